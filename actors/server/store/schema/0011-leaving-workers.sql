-- Whether a worker was told to end: `draining`, or `stopped` once it has said that it ends.
ALTER TABLE workers ADD COLUMN leaving TEXT;
