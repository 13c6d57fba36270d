CREATE TABLE artifacts (
  id TEXT PRIMARY KEY,
  sha256 TEXT NOT NULL,
  kind TEXT NOT NULL,
  path TEXT NOT NULL,
  size_bytes INTEGER NOT NULL,
  created_at REAL NOT NULL,
  filename TEXT,
  metadata TEXT NOT NULL
) WITHOUT ROWID;

-- Which artifact a task's attempt uploaded in which role.
CREATE TABLE task_artifacts (
  task_id TEXT NOT NULL,
  attempt INTEGER NOT NULL,
  role TEXT NOT NULL,
  artifact_id TEXT NOT NULL,
  PRIMARY KEY (task_id, attempt, role, artifact_id)
) WITHOUT ROWID;

CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  job_id TEXT,
  task_id TEXT,
  worker_id TEXT,
  ts REAL NOT NULL,
  level TEXT NOT NULL,
  type TEXT NOT NULL,
  message TEXT NOT NULL,
  data TEXT NOT NULL
);
CREATE INDEX events_job ON events (job_id, id) WHERE job_id IS NOT NULL;

-- One row a minute, kept up to date by every commit of that minute.
CREATE TABLE stats_minutes (
  minute INTEGER PRIMARY KEY,
  submitted INTEGER NOT NULL,
  started INTEGER NOT NULL,
  succeeded INTEGER NOT NULL,
  failed INTEGER NOT NULL,
  queued INTEGER NOT NULL,
  workers_alive INTEGER NOT NULL
);
