-- Whether the server that has the lock of the store works: while it does, it counts on every second. The others look
-- whether the number changes, and compare no clocks. Where its clients reach it stands here for those who ask another one.
CREATE TABLE leader (
  id bigint PRIMARY KEY CHECK (id = 1),
  server text COLLATE "C" NOT NULL,
  place text COLLATE "C" NOT NULL,
  -- Empty where it is not known yet.
  address text COLLATE "C" NOT NULL,
  beat bigint NOT NULL
) WITH (fillfactor = 50);
INSERT INTO leader VALUES (1, '', '', '', 0);
