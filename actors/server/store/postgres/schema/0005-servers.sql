-- The servers that are there: each writes its row every second. Who leads, and since when, stands in `reign`.
CREATE TABLE servers (
  -- What one start of a server is known by, and where it runs.
  id text COLLATE "C" PRIMARY KEY,
  place text COLLATE "C" NOT NULL,
  -- Where it is reached; empty where it is not known yet.
  address text COLLATE "C" NOT NULL,
  version text COLLATE "C" NOT NULL,
  -- Seconds since 1970 by the clock of the database: when it wrote its first row, and its last.
  since double precision NOT NULL,
  seen double precision NOT NULL,
  -- The last event that it saw then.
  event bigint NOT NULL
) WITH (fillfactor = 50);

-- What this store is known by to the servers on it. A copy of it is another one.
CREATE TABLE store_id (id text COLLATE "C" NOT NULL);
INSERT INTO store_id VALUES (gen_random_uuid()::text);
