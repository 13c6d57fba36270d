-- Whether a job was given another priority: rows of its tasks keep the one that they were written with.
ALTER TABLE jobs ADD COLUMN moved INTEGER;
CREATE INDEX jobs_moved ON jobs (seq) WHERE moved IS NOT NULL;
