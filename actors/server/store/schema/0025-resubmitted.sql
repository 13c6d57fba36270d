-- The job of which a job is a repeated or changed submission, and from there the others.
ALTER TABLE jobs ADD COLUMN resubmitted_from TEXT;
CREATE INDEX jobs_resubmitted ON jobs (resubmitted_from, created_at) WHERE resubmitted_from IS NOT NULL;
