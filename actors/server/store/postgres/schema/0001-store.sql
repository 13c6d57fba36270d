-- What a job, a task and a worker are, each row enough to restore its actor. Tables, columns and indexes are those of the
-- store in SQLite (version 27), whose migrations say what they are for. Documents of JSON are text: their digits, order and white space
-- stay. Texts are ordered by their bytes, as there.

-- Who writes: each session of a server that leads has an epoch of its own, and every commit carries its number, and that of
-- the turn within it. Whoever comes with an earlier epoch writes nothing.
CREATE TABLE reign (
  id bigint PRIMARY KEY CHECK (id = 1),
  epoch bigint NOT NULL,
  turn bigint NOT NULL,
  -- Seconds since 1970.
  since double precision NOT NULL,
  -- What one start of a server is known by, and where it runs.
  server text COLLATE "C" NOT NULL,
  place text COLLATE "C" NOT NULL
) WITH (fillfactor = 50);
INSERT INTO reign VALUES (1, 0, 0, 0, '', '');
-- Those before, with their last turns: who was cut off finds there what became of its own.
CREATE TABLE past_reigns (
  epoch bigint PRIMARY KEY,
  turn bigint NOT NULL,
  since double precision NOT NULL,
  until double precision NOT NULL,
  server text COLLATE "C" NOT NULL,
  place text COLLATE "C" NOT NULL
);

CREATE TABLE jobs (
  seq bigint PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  type text COLLATE "C" NOT NULL,
  name text COLLATE "C",
  name_folded text COLLATE "C",
  note text COLLATE "C",
  tags text COLLATE "C",
  status text COLLATE "C" NOT NULL,
  state text COLLATE "C",
  priority bigint NOT NULL,
  moved bigint,
  created_at double precision NOT NULL,
  updated_at double precision NOT NULL,
  keep text COLLATE "C",
  keep_seconds double precision,
  owner text COLLATE "C" NOT NULL,
  granted_rights text COLLATE "C" NOT NULL,
  warnings text COLLATE "C" NOT NULL,
  error text COLLATE "C",
  idempotency_key text COLLATE "C",
  rank_metric text COLLATE "C" NOT NULL,
  rank_mode text COLLATE "C" NOT NULL,
  retry_attempts bigint NOT NULL,
  pins_fingerprint bigint NOT NULL,
  is_dag bigint NOT NULL,
  meaning text COLLATE "C",
  reuse text COLLATE "C",
  num_tasks bigint NOT NULL,
  num_queued bigint NOT NULL,
  num_leased bigint NOT NULL,
  num_running bigint NOT NULL,
  num_lost bigint NOT NULL,
  num_succeeded bigint NOT NULL,
  num_failed bigint NOT NULL,
  num_cancelled bigint NOT NULL,
  num_reused bigint NOT NULL,
  best_metric double precision,
  best_task_id text COLLATE "C",
  best_model_artifact_id text COLLATE "C",
  standings text COLLATE "C",
  selection text COLLATE "C",
  next_seq bigint,
  last_seq bigint,
  run_times text COLLATE "C",
  resubmitted_from text COLLATE "C"
) WITH (fillfactor = 80);
CREATE UNIQUE INDEX jobs_created ON jobs (created_at DESC);
CREATE INDEX jobs_status_created ON jobs (status, created_at DESC);
CREATE UNIQUE INDEX jobs_idempotency ON jobs (owner, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX jobs_name ON jobs (name_folded) WHERE name_folded IS NOT NULL;
CREATE INDEX jobs_owner ON jobs (owner, created_at DESC);
CREATE INDEX jobs_moved ON jobs (seq) WHERE moved IS NOT NULL;
CREATE INDEX jobs_telling ON jobs (seq) WHERE state IN ('requeuing', 'telling', 'reusing');
CREATE INDEX jobs_last_seq ON jobs (last_seq) WHERE last_seq IS NOT NULL;
CREATE INDEX jobs_ended ON jobs (updated_at, seq) WHERE status IN ('succeeded', 'failed', 'cancelled');
CREATE INDEX jobs_keep ON jobs ((updated_at + keep_seconds))
  WHERE keep_seconds IS NOT NULL AND status IN ('succeeded', 'failed', 'cancelled');
CREATE INDEX jobs_resubmitted ON jobs (resubmitted_from, created_at) WHERE resubmitted_from IS NOT NULL;
CREATE INDEX jobs_type ON jobs (type, created_at DESC);
CREATE INDEX jobs_owner_type ON jobs (owner, type, created_at DESC);
CREATE INDEX jobs_owner_ill ON jobs (owner, status, created_at DESC) WHERE status IN ('failed', 'cancelled');
CREATE INDEX jobs_type_ill ON jobs (type, status, created_at DESC) WHERE status IN ('failed', 'cancelled');
-- Finds the jobs whose name contains a text. It comes with PostgreSQL; without it each name is looked at.
DO $$ BEGIN
  CREATE EXTENSION IF NOT EXISTS pg_trgm;
  CREATE INDEX job_names ON jobs USING gin (name_folded gin_trgm_ops);
EXCEPTION WHEN insufficient_privilege OR undefined_file OR undefined_object OR feature_not_supported THEN NULL;
END $$;

CREATE TABLE job_requests (
  job_id text COLLATE "C" PRIMARY KEY,
  request text COLLATE "C" NOT NULL
);

CREATE TABLE job_tags (
  tag text COLLATE "C" NOT NULL,
  seq bigint NOT NULL,
  owner text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  PRIMARY KEY (tag, seq)
);
CREATE INDEX job_tags_owner ON job_tags (tag, owner, seq DESC);
CREATE INDEX job_tags_type ON job_tags (tag, type, seq DESC);

CREATE TABLE job_inputs (
  job_id text COLLATE "C" NOT NULL,
  artifact_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (job_id, artifact_id)
);
CREATE INDEX job_inputs_artifact ON job_inputs (artifact_id);

CREATE TABLE job_variants (
  job_id text COLLATE "C" PRIMARY KEY,
  variants text COLLATE "C" NOT NULL
);

CREATE TABLE choices (
  job_id text COLLATE "C" PRIMARY KEY,
  chosen text COLLATE "C" NOT NULL
);

CREATE TABLE requirements (
  id bigint PRIMARY KEY,
  signature text COLLATE "C" NOT NULL,
  document text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL
);
-- Signatures may be longer than an index takes.
CREATE UNIQUE INDEX requirements_told_apart ON requirements (md5(signature), owner, type);

CREATE TABLE pauses (
  kind text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  by text COLLATE "C" NOT NULL,
  at double precision NOT NULL,
  PRIMARY KEY (kind, name)
);

-- Rows of tasks change a few times: a page keeps room for that.
CREATE TABLE tasks (
  seq bigint PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  job_id text COLLATE "C" NOT NULL,
  status text COLLATE "C" NOT NULL,
  state text COLLATE "C",
  priority bigint NOT NULL,
  attempt bigint NOT NULL,
  max_attempts bigint NOT NULL,
  backoff_seconds double precision NOT NULL,
  not_before double precision,
  worker_faults bigint NOT NULL,
  take_backs bigint NOT NULL,
  avoids text COLLATE "C",
  worker_id text COLLATE "C",
  lease_expires_at double precision,
  requirement_id bigint NOT NULL,
  payload text COLLATE "C" NOT NULL,
  pipeline_label text COLLATE "C" NOT NULL,
  pipeline_steps text COLLATE "C",
  dataset_label text COLLATE "C" NOT NULL,
  timeout_seconds double precision,
  created_at double precision NOT NULL,
  updated_at double precision NOT NULL,
  started_at double precision,
  result text COLLATE "C",
  rank_value double precision,
  rank_others text COLLATE "C",
  model_artifact_id text COLLATE "C",
  error text COLLATE "C",
  last_report text COLLATE "C",
  content_key text COLLATE "C",
  reused_from text COLLATE "C"
) WITH (fillfactor = 70);
CREATE INDEX tasks_job ON tasks (job_id, seq);
CREATE INDEX tasks_queued ON tasks (priority DESC, seq, requirement_id) WHERE status = 'queued';
CREATE INDEX tasks_held ON tasks (seq) WHERE status IN ('leased', 'running');
CREATE INDEX tasks_special ON tasks (job_id, seq)
  WHERE status = 'queued' AND (avoids IS NOT NULL OR not_before IS NOT NULL);
CREATE INDEX tasks_ranked ON tasks (job_id, rank_value, seq) WHERE status = 'succeeded';
CREATE INDEX tasks_ranked_2 ON tasks (job_id, (CAST(rank_others::json ->> 0 AS double precision)), seq)
  WHERE status = 'succeeded' AND rank_others IS NOT NULL;
CREATE INDEX tasks_ranked_3 ON tasks (job_id, (CAST(rank_others::json ->> 1 AS double precision)), seq)
  WHERE status = 'succeeded' AND rank_others IS NOT NULL;
CREATE INDEX tasks_ranked_4 ON tasks (job_id, (CAST(rank_others::json ->> 2 AS double precision)), seq)
  WHERE status = 'succeeded' AND rank_others IS NOT NULL;
CREATE INDEX tasks_reused ON tasks ((reused_from::json ->> 'job_id'), job_id) WHERE reused_from IS NOT NULL;

CREATE TABLE computed (
  content_key text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  owner text COLLATE "C" NOT NULL,
  task_seq bigint NOT NULL,
  PRIMARY KEY (content_key, version, owner)
);

CREATE TABLE workers (
  id text COLLATE "C" PRIMARY KEY,
  name text COLLATE "C",
  principal text COLLATE "C" NOT NULL,
  session bigint NOT NULL,
  status text COLLATE "C" NOT NULL,
  state text COLLATE "C",
  registered_at double precision NOT NULL,
  last_seen_at double precision NOT NULL,
  labels text COLLATE "C" NOT NULL,
  capabilities text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  slots_total bigint NOT NULL,
  slots_used bigint NOT NULL,
  suspended text COLLATE "C",
  leaving text COLLATE "C",
  drained text COLLATE "C"
) WITH (fillfactor = 50);

CREATE TABLE artifacts (
  id text COLLATE "C" PRIMARY KEY,
  sha256 text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  path text COLLATE "C" NOT NULL,
  size_bytes bigint NOT NULL,
  created_at double precision NOT NULL,
  filename text COLLATE "C",
  metadata text COLLATE "C" NOT NULL,
  task_id text COLLATE "C",
  orphaned_at double precision
);
CREATE INDEX artifacts_sha256 ON artifacts (sha256);
CREATE INDEX artifacts_orphaned ON artifacts (orphaned_at) WHERE orphaned_at IS NOT NULL;
CREATE INDEX artifacts_uploaded ON artifacts (created_at) WHERE task_id IS NULL;

CREATE TABLE task_artifacts (
  task_id text COLLATE "C" NOT NULL,
  attempt bigint NOT NULL,
  role text COLLATE "C" NOT NULL,
  artifact_id text COLLATE "C" NOT NULL,
  PRIMARY KEY (task_id, attempt, role, artifact_id)
);

CREATE TABLE expired_artifacts (
  id text COLLATE "C" PRIMARY KEY,
  sha256 text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  size_bytes bigint NOT NULL,
  created_at double precision NOT NULL,
  filename text COLLATE "C",
  metadata text COLLATE "C" NOT NULL,
  expired_at double precision NOT NULL
);

CREATE TABLE unnamed_objects (
  sha256 text COLLATE "C" PRIMARY KEY,
  since double precision NOT NULL
);
CREATE INDEX unnamed_objects_since ON unnamed_objects (since);

CREATE TABLE events (
  id bigint PRIMARY KEY,
  job_id text COLLATE "C",
  task_id text COLLATE "C",
  worker_id text COLLATE "C",
  ts double precision NOT NULL,
  level text COLLATE "C" NOT NULL,
  type text COLLATE "C" NOT NULL,
  message text COLLATE "C" NOT NULL,
  data text COLLATE "C" NOT NULL
);
CREATE INDEX events_job ON events (job_id, id) WHERE job_id IS NOT NULL;
CREATE INDEX events_divergence ON events (id) WHERE type = 'version_divergence';
CREATE INDEX events_gap ON events (job_id) WHERE type = 'gap' AND task_id IS NULL;
CREATE INDEX events_loose ON events (id) WHERE job_id IS NULL OR (type = 'job_deleted' AND task_id IS NULL);

CREATE TABLE notifications (
  id bigint PRIMARY KEY,
  job_id text COLLATE "C" NOT NULL,
  body text COLLATE "C" NOT NULL,
  created_at double precision NOT NULL,
  attempts bigint NOT NULL,
  error text COLLATE "C",
  next_at double precision NOT NULL
);
CREATE INDEX notifications_next ON notifications (next_at);

CREATE TABLE stats_minutes (
  minute bigint PRIMARY KEY,
  submitted bigint NOT NULL,
  started bigint NOT NULL,
  succeeded bigint NOT NULL,
  failed bigint NOT NULL,
  queued bigint NOT NULL,
  workers_alive bigint NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE tally (
  id bigint PRIMARY KEY CHECK (id = 1),
  jobs text COLLATE "C" NOT NULL,
  tasks text COLLATE "C" NOT NULL,
  workers text COLLATE "C" NOT NULL
) WITH (fillfactor = 50);

CREATE TABLE shed (
  job_id text COLLATE "C" NOT NULL,
  what text COLLATE "C" NOT NULL,
  at double precision NOT NULL,
  PRIMARY KEY (job_id, what)
);
CREATE TABLE deletions (job_id text COLLATE "C" PRIMARY KEY, at double precision NOT NULL);
-- One of them is a time.
CREATE TABLE numbers (name text COLLATE "C" PRIMARY KEY, last double precision NOT NULL);

-- PostgreSQL has no NUL in texts: U+FDD0 and a zero stand for it, U+FDD0 and a one for U+FDD0 itself. Within JSON they become
-- what JSON writes for a NUL.
CREATE FUNCTION jq_row(content text) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
  $$ SELECT replace(content, U&'\FDD00', '\u0000') $$;
-- A text as JSON writes it; `null` where there is none.
CREATE FUNCTION jq_quote(content text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS
  $$ SELECT coalesce(replace(to_json(content)::text, U&'\FDD00', '\u0000'), 'null') $$;
-- A text as a document in which members can be looked up whatever its texts hold; NULL where it is no JSON, or nested too
-- deeply.
CREATE FUNCTION jq_json(content text) RETURNS json LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  IF strpos(content, '\u') > 0 THEN
    -- An escape counts where it does not belong to an escaped backslash.
    content := regexp_replace(content, '(?<!\\)((?:\\\\)*)\\u0000', U&'\\1\FDD00', 'g');
    BEGIN
      PERFORM content::jsonb;
    EXCEPTION WHEN data_exception THEN
      -- Half a pair of surrogates.
      content := regexp_replace(content, '(?<!\\)((?:\\\\)*)\\u[dD][89a-fA-F][0-9a-fA-F]{2}', '\1\\ufffd', 'g');
    END;
  END IF;
  RETURN content::json;
EXCEPTION WHEN data_exception OR statement_too_complex THEN RETURN NULL;
END $$;
-- JSON without white space between its words; digits and order stay.
CREATE FUNCTION json_compact(content json) RETURNS text LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE AS
  $$ SELECT regexp_replace(content::text, '("(?:[^"\\]|\\.)*")|\s+', '\1', 'g') $$;
-- The elements of a list, in order; texts without quotes, all others as JSON.
CREATE FUNCTION jq_each(list text) RETURNS TABLE (key bigint, value text) LANGUAGE sql IMMUTABLE AS
  $$ SELECT ordinality - 1, element FROM json_array_elements_text(jq_json(list)) WITH ORDINALITY AS e (element, ordinality) $$;
-- The members of a member of a document, in order: their values as text, and what they are. None where it is no object.
CREATE FUNCTION jq_members(document text, name text) RETURNS TABLE (place bigint, key text, value text, kind text)
  LANGUAGE sql IMMUTABLE AS
  $$ SELECT ordinality, m.key, m.value #>> '{}', json_typeof(m.value)
     FROM (SELECT jq_json(document) -> name AS found) f,
       json_each(CASE WHEN json_typeof(f.found) = 'object' THEN f.found ELSE '{}' END)
         WITH ORDINALITY AS m (key, value, ordinality) $$;
