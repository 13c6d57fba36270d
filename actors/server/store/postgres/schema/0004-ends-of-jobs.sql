-- Rows of jobs change with each report. PostgreSQL writes a changed row into the same page and into no index, as long as no column
-- that an index looks at has changed. When a job changed last was such a column; now it is when it ended, which is NULL until then.
DROP INDEX jobs_ended, jobs_keep;
ALTER TABLE jobs
  ADD COLUMN ended_at double precision
    GENERATED ALWAYS AS (CASE WHEN status IN ('succeeded', 'failed', 'cancelled') THEN updated_at END) STORED,
  ADD COLUMN kept_until double precision
    GENERATED ALWAYS AS (CASE WHEN status IN ('succeeded', 'failed', 'cancelled') THEN updated_at + keep_seconds END) STORED;
CREATE INDEX jobs_ended ON jobs (ended_at, seq) WHERE ended_at IS NOT NULL;
CREATE INDEX jobs_keep ON jobs (kept_until) WHERE kept_until IS NOT NULL;
