-- What a person says of a job, and by which words it is found: a JSON list, NULL where there are none.
ALTER TABLE jobs ADD COLUMN note TEXT;
ALTER TABLE jobs ADD COLUMN tags TEXT;
-- The jobs that have a tag, the newest first.
CREATE TABLE job_tags (
  tag TEXT NOT NULL,
  seq INTEGER NOT NULL,
  PRIMARY KEY (tag, seq DESC)
) WITHOUT ROWID;
