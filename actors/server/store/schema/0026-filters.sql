-- What lists of jobs are filtered by beside an owner or a status. Owner and type never change.
CREATE INDEX jobs_type ON jobs (type, created_at DESC);
CREATE INDEX jobs_owner_type ON jobs (owner, type, created_at DESC);
-- Of those that did not succeed there are few among many; a job that goes well costs nothing here.
CREATE INDEX jobs_owner_ill ON jobs (owner, status, created_at DESC) WHERE status IN ('failed', 'cancelled');
CREATE INDEX jobs_type_ill ON jobs (type, status, created_at DESC) WHERE status IN ('failed', 'cancelled');
-- A tag is of many jobs: those of an owner or a type are told apart without their rows.
DROP TABLE job_tags;
CREATE TABLE job_tags (
  tag TEXT NOT NULL,
  seq INTEGER NOT NULL,
  owner TEXT NOT NULL,
  type TEXT NOT NULL,
  PRIMARY KEY (tag, seq DESC)
) WITHOUT ROWID;
CREATE INDEX job_tags_owner ON job_tags (tag, owner, seq DESC);
CREATE INDEX job_tags_type ON job_tags (tag, type, seq DESC);
INSERT INTO job_tags (tag, seq, owner, type)
  SELECT t.value, jobs.seq, jobs.owner, jobs.type FROM jobs, json_each(jobs.tags) t;
