-- How long a job stays after its end, as its owner wishes: `forever`, or a time such as `7d`; and that time in seconds.
ALTER TABLE jobs ADD COLUMN keep TEXT;
ALTER TABLE jobs ADD COLUMN keep_seconds REAL;
-- Jobs that have ended, the first first, and those whose own time ends, by when it does.
CREATE INDEX jobs_ended ON jobs (updated_at) WHERE status IN ('succeeded', 'failed', 'cancelled');
CREATE INDEX jobs_keep ON jobs (updated_at + keep_seconds)
  WHERE keep_seconds IS NOT NULL AND status IN ('succeeded', 'failed', 'cancelled');
-- Which other jobs have the results of a job.
CREATE INDEX tasks_reused ON tasks (reused_from ->> 'job_id') WHERE reused_from IS NOT NULL;

-- The artifacts that a job names as its inputs: they stay as long as it is there.
CREATE TABLE job_inputs (
  job_id TEXT NOT NULL,
  artifact_id TEXT NOT NULL,
  PRIMARY KEY (job_id, artifact_id)
) WITHOUT ROWID;
CREATE INDEX job_inputs_artifact ON job_inputs (artifact_id);
INSERT INTO job_inputs
  SELECT DISTINCT r.job_id, a.id FROM job_requests r
    CROSS JOIN json_tree(iif(json_valid(r.request), r.request, '{}')) t ON t.key IN ('artifact_id', 'bundle_artifact_id')
    CROSS JOIN artifacts a ON a.id = t.atom
  UNION
  -- Nested deeper than SQLite reads.
  SELECT r.job_id, a.id FROM job_requests r CROSS JOIN artifacts a ON instr(r.request, a.id) > 0
  WHERE NOT json_valid(r.request);

-- The task that uploaded an artifact; and since when the last job that named it is gone.
ALTER TABLE artifacts ADD COLUMN task_id TEXT;
ALTER TABLE artifacts ADD COLUMN orphaned_at REAL;
UPDATE artifacts SET task_id = u.task_id FROM task_artifacts u WHERE u.artifact_id = artifacts.id;
CREATE INDEX artifacts_orphaned ON artifacts (orphaned_at) WHERE orphaned_at IS NOT NULL;
CREATE INDEX artifacts_uploaded ON artifacts (created_at) WHERE task_id IS NULL;

-- Artifacts of jobs that are there, whose own time is over: what is in `artifacts` has bytes.
CREATE TABLE expired_artifacts (
  id TEXT PRIMARY KEY,
  sha256 TEXT NOT NULL,
  kind TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  created_at REAL NOT NULL,
  filename TEXT,
  metadata TEXT NOT NULL,
  expired_at REAL NOT NULL
) WITHOUT ROWID;
-- Objects that perhaps no artifact names any more, and since when.
CREATE TABLE unnamed_objects (
  sha256 TEXT PRIMARY KEY,
  since REAL NOT NULL
) WITHOUT ROWID;
CREATE INDEX unnamed_objects_since ON unnamed_objects (since);

-- What of a job has gone before the job itself (logs, artifacts, events), and when.
CREATE TABLE shed (
  job_id TEXT NOT NULL,
  what TEXT NOT NULL,
  at REAL NOT NULL,
  PRIMARY KEY (job_id, what)
) WITHOUT ROWID;
-- Jobs that are deleted, and of which tasks or events are still there.
CREATE TABLE deletions (job_id TEXT PRIMARY KEY, at REAL NOT NULL) WITHOUT ROWID;
-- The last numbers that were given, where their rows may be gone.
CREATE TABLE numbers (name TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID;
-- How many numbers were never given before the event that a restored server began with.
UPDATE events SET data = json_set(data, '$.skipped',
    id - 1 - ifnull((SELECT max(earlier.id) FROM events AS earlier WHERE earlier.id < events.id), id - 1))
  WHERE type = 'server_restored' AND task_id IS NULL AND data ->> 'skipped' IS NULL;
-- The rows that stand for deleted events; and events that belong to no job that is there.
CREATE INDEX events_gap ON events (job_id) WHERE type = 'gap' AND task_id IS NULL;
CREATE INDEX events_loose ON events (id) WHERE job_id IS NULL OR (type = 'job_deleted' AND task_id IS NULL);
