-- What failed waits before it is tried again, and avoids the workers whose own fault it was.
ALTER TABLE tasks ADD COLUMN backoff_seconds REAL NOT NULL DEFAULT 0;
ALTER TABLE tasks ADD COLUMN not_before REAL;
ALTER TABLE tasks ADD COLUMN worker_faults INTEGER NOT NULL DEFAULT 0;
-- A JSON list; NULL when it is empty, as it nearly always is.
ALTER TABLE tasks ADD COLUMN avoids TEXT;
-- Why a worker asks for no tasks at present.
ALTER TABLE workers ADD COLUMN suspended TEXT;
-- The few queued tasks that wait for more than a worker whom their requirements fit.
CREATE INDEX tasks_special ON tasks (job_id, seq)
  WHERE status = 'queued' AND (avoids IS NOT NULL OR not_before IS NOT NULL);
