-- The state of a job below its status: whether its tasks are just being told what a person wished.
ALTER TABLE jobs ADD COLUMN state TEXT;
UPDATE jobs SET state = 'ready' WHERE status = 'queued';
UPDATE jobs SET state = 'stopping' WHERE status = 'cancelling';
-- The few that a start goes on with.
CREATE INDEX jobs_telling ON jobs (seq) WHERE state IN ('requeuing', 'telling');
-- Which tasks a retry is about, where it takes several turns and is not about all that failed: a JSON list of numbers.
CREATE TABLE choices (
  job_id TEXT PRIMARY KEY,
  chosen TEXT NOT NULL
) WITHOUT ROWID;
