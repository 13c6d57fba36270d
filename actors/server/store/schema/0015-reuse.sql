-- The ends of ids are random, so that their index cost every submission two pages. The index of ids is read instead.
DROP INDEX jobs_end;
-- What a task is made of, hashed, where that is known by content; and whose result it was answered with.
ALTER TABLE tasks ADD COLUMN content_key TEXT;
ALTER TABLE tasks ADD COLUMN reused_from TEXT;
ALTER TABLE jobs ADD COLUMN reuse TEXT;
ALTER TABLE jobs ADD COLUMN num_reused INTEGER NOT NULL DEFAULT 0;
-- Of each owner the last task that computed a content with a version of its library.
CREATE TABLE computed (
  content_key TEXT NOT NULL,
  version TEXT NOT NULL,
  owner TEXT NOT NULL,
  task_seq INTEGER NOT NULL,
  PRIMARY KEY (content_key, version, owner)
) WITHOUT ROWID;
-- The few that a start goes on with.
DROP INDEX jobs_telling;
CREATE INDEX jobs_telling ON jobs (seq) WHERE state IN ('requeuing', 'telling', 'reusing');
