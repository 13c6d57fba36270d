-- What a person writes for a job: the end of its id (its last eight characters, the last one first, so that a shorter end
-- is a range), its whole name, or that it is the last one of an owner. The beginning of an id has the index of ids.
CREATE INDEX jobs_end ON jobs (
  (substr(id, -1, 1) || substr(id, -2, 1) || substr(id, -3, 1) || substr(id, -4, 1)
   || substr(id, -5, 1) || substr(id, -6, 1) || substr(id, -7, 1) || substr(id, -8, 1))
);
CREATE INDEX jobs_name ON jobs (name_folded) WHERE name_folded IS NOT NULL;
CREATE INDEX jobs_owner ON jobs (owner, created_at DESC);
