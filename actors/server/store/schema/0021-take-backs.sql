-- Attempts that an operator took back: they cost nothing, and double no wait.
ALTER TABLE tasks ADD COLUMN take_backs INTEGER NOT NULL DEFAULT 0;
