-- A job may select the best of its variants: how they stand by dataset, a JSON object.
ALTER TABLE jobs ADD COLUMN selection TEXT;
-- Numbers in the queue that are kept for tasks that such a job will have later.
ALTER TABLE jobs ADD COLUMN next_seq INTEGER;
ALTER TABLE jobs ADD COLUMN last_seq INTEGER;
CREATE INDEX jobs_last_seq ON jobs (last_seq) WHERE last_seq IS NOT NULL;
-- What such a job is about is a state below `running`, and so is that another one computes.
UPDATE jobs SET state = 'computing' WHERE status = 'running';
-- The variants that a library found in the pipeline of a job: a JSON list of pipelines.
CREATE TABLE job_variants (
  job_id TEXT PRIMARY KEY,
  variants TEXT NOT NULL
) WITHOUT ROWID;
