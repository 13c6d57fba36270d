-- Whether a pipeline is a graph of steps, and by what two submissions under one idempotency key are the same.
ALTER TABLE jobs ADD COLUMN is_dag INTEGER NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN meaning TEXT;
