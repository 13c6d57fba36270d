-- How many jobs, tasks and workers are in each status: one row, kept up to date by every commit, so that a start
-- counts nothing. Where it is missing, the start counts.
CREATE TABLE tally (
  id INTEGER PRIMARY KEY CHECK (id = 1),
  jobs TEXT NOT NULL,
  tasks TEXT NOT NULL,
  workers TEXT NOT NULL
);
