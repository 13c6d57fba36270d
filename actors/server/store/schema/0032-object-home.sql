-- Where objects lie that are not in the state directory: at most one row. The id is written there, too, so that nothing
-- there is taken for another store's.
CREATE TABLE object_home (
  id TEXT NOT NULL,
  url TEXT NOT NULL
);
