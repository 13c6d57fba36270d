-- Where objects lie that are not in the state directory: at most one row, as in SQLite.
CREATE TABLE object_home (
  id text COLLATE "C" NOT NULL,
  url text COLLATE "C" NOT NULL
);
