-- How many times a worker has registered: the number of its newest session.

ALTER TABLE workers ADD COLUMN session INTEGER NOT NULL DEFAULT 0;
