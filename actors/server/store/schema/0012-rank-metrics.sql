-- A job may rank by one of several metrics: how its tasks stand by each, and what a task has of those behind the first.
ALTER TABLE jobs ADD COLUMN standings TEXT;
-- A JSON list; NULL where the job names one metric, as most do.
ALTER TABLE tasks ADD COLUMN rank_others TEXT;
-- What tells inline pipelines without a name apart.
ALTER TABLE tasks ADD COLUMN pipeline_steps TEXT;
-- The orders of rankings by those.
CREATE INDEX tasks_ranked_2 ON tasks (job_id, rank_others ->> 0, seq)
  WHERE status = 'succeeded' AND rank_others IS NOT NULL;
CREATE INDEX tasks_ranked_3 ON tasks (job_id, rank_others ->> 1, seq)
  WHERE status = 'succeeded' AND rank_others IS NOT NULL;
CREATE INDEX tasks_ranked_4 ON tasks (job_id, rank_others ->> 2, seq)
  WHERE status = 'succeeded' AND rank_others IS NOT NULL;
