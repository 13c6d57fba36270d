-- PostgreSQL writes a changed row into its page and into no index (HOT), as long as there is room in the page and no column changes
-- that an index looks at. So what a job is listed by and changes stands apart, in a small row that changes twice in its life, and
-- pages of jobs keep room for all of their rows at once: a turn changes many that stand together. Tasks have a column for
-- the indexes that does not change when they start.
CREATE TABLE job_places (
  seq bigint PRIMARY KEY,
  status text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  created_at double precision NOT NULL,
  -- NULL until its end; the second is also NULL where its owner has no wish.
  ended_at double precision,
  kept_until double precision
);
INSERT INTO job_places
  SELECT seq, status, owner, type, created_at, ended_at, kept_until FROM jobs;
CREATE INDEX job_places_status ON job_places (status, created_at DESC);
CREATE INDEX job_places_ended ON job_places (ended_at, seq) WHERE ended_at IS NOT NULL;
CREATE INDEX job_places_keep ON job_places (kept_until) WHERE kept_until IS NOT NULL;
CREATE INDEX job_places_owner_ill ON job_places (owner, status, created_at DESC) WHERE status IN ('failed', 'cancelled');
CREATE INDEX job_places_type_ill ON job_places (type, status, created_at DESC) WHERE status IN ('failed', 'cancelled');

DROP INDEX jobs_status_created, jobs_owner_ill, jobs_type_ill, jobs_telling;
ALTER TABLE jobs
  DROP COLUMN ended_at,
  DROP COLUMN kept_until,
  ADD COLUMN is_telling boolean GENERATED ALWAYS AS (CASE WHEN state IN ('requeuing', 'telling', 'reusing') THEN true END) STORED,
  SET (fillfactor = 40);
CREATE INDEX jobs_telling ON jobs (seq) WHERE is_telling;

DROP INDEX tasks_queued, tasks_held, tasks_special, tasks_ranked, tasks_ranked_2, tasks_ranked_3, tasks_ranked_4;
ALTER TABLE tasks
  ADD COLUMN phase text COLLATE "C" GENERATED ALWAYS AS (CASE
    WHEN status IN ('queued', 'succeeded') THEN status WHEN status IN ('leased', 'running') THEN 'held' END) STORED;
CREATE INDEX tasks_queued ON tasks (priority DESC, seq, requirement_id) WHERE phase = 'queued';
CREATE INDEX tasks_held ON tasks (seq) WHERE phase = 'held';
CREATE INDEX tasks_special ON tasks (job_id, seq)
  WHERE phase = 'queued' AND (avoids IS NOT NULL OR not_before IS NOT NULL);
CREATE INDEX tasks_ranked ON tasks (job_id, rank_value, seq) WHERE phase = 'succeeded';
CREATE INDEX tasks_ranked_2 ON tasks (job_id, (CAST(rank_others::json ->> 0 AS double precision)), seq)
  WHERE phase = 'succeeded' AND rank_others IS NOT NULL;
CREATE INDEX tasks_ranked_3 ON tasks (job_id, (CAST(rank_others::json ->> 1 AS double precision)), seq)
  WHERE phase = 'succeeded' AND rank_others IS NOT NULL;
CREATE INDEX tasks_ranked_4 ON tasks (job_id, (CAST(rank_others::json ->> 2 AS double precision)), seq)
  WHERE phase = 'succeeded' AND rank_others IS NOT NULL;
