-- What a job, a task and a worker are, each row enough to restore its actor.

CREATE TABLE jobs (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  type TEXT NOT NULL,
  name TEXT,
  -- The name in lower case, for the search in the list of jobs.
  name_folded TEXT,
  status TEXT NOT NULL,
  priority INTEGER NOT NULL,
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL,
  owner TEXT NOT NULL,
  granted_rights TEXT NOT NULL,
  warnings TEXT NOT NULL,
  error TEXT,
  idempotency_key TEXT,
  rank_metric TEXT NOT NULL,
  rank_mode TEXT NOT NULL,
  retry_attempts INTEGER NOT NULL,
  pins_fingerprint INTEGER NOT NULL,
  num_tasks INTEGER NOT NULL,
  num_queued INTEGER NOT NULL,
  num_leased INTEGER NOT NULL,
  num_running INTEGER NOT NULL,
  num_lost INTEGER NOT NULL,
  num_succeeded INTEGER NOT NULL,
  num_failed INTEGER NOT NULL,
  num_cancelled INTEGER NOT NULL,
  best_metric REAL,
  best_task_id TEXT,
  best_model_artifact_id TEXT
);
CREATE UNIQUE INDEX jobs_created ON jobs (created_at DESC);
CREATE INDEX jobs_status_created ON jobs (status, created_at DESC);
CREATE UNIQUE INDEX jobs_idempotency ON jobs (owner, idempotency_key) WHERE idempotency_key IS NOT NULL;

-- The specification as submitted, numbers as written; apart from the job, whose row changes often.
CREATE TABLE job_requests (
  job_id TEXT PRIMARY KEY,
  request TEXT NOT NULL
) WITHOUT ROWID;

-- Distinct requirements, shared by all tasks that ask the same.
CREATE TABLE requirements (
  id INTEGER PRIMARY KEY,
  signature TEXT NOT NULL UNIQUE,
  document TEXT NOT NULL
);

CREATE TABLE tasks (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
  job_id TEXT NOT NULL,
  status TEXT NOT NULL,
  state TEXT,
  priority INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  max_attempts INTEGER NOT NULL,
  worker_id TEXT,
  lease_expires_at REAL,
  requirement_id INTEGER NOT NULL,
  payload TEXT NOT NULL,
  pipeline_label TEXT NOT NULL,
  dataset_label TEXT NOT NULL,
  timeout_seconds REAL,
  created_at REAL NOT NULL,
  updated_at REAL NOT NULL,
  started_at REAL,
  result TEXT,
  rank_value REAL,
  model_artifact_id TEXT,
  error TEXT,
  last_report TEXT
);
CREATE INDEX tasks_job ON tasks (job_id, seq);
-- The queue, in the order it is served; start-up reads it once.
CREATE INDEX tasks_queued ON tasks (priority DESC, seq, requirement_id) WHERE status = 'queued';
CREATE INDEX tasks_held ON tasks (seq) WHERE status IN ('leased', 'running');

CREATE TABLE workers (
  id TEXT PRIMARY KEY,
  name TEXT,
  principal TEXT NOT NULL,
  status TEXT NOT NULL,
  state TEXT,
  registered_at REAL NOT NULL,
  last_seen_at REAL NOT NULL,
  labels TEXT NOT NULL,
  capabilities TEXT NOT NULL,
  version TEXT NOT NULL,
  slots_total INTEGER NOT NULL,
  slots_used INTEGER NOT NULL
) WITHOUT ROWID;
