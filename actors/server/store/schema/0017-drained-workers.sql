-- An operator's order to give a worker nothing more: who ordered it, when, and when its tasks are taken back; JSON.
ALTER TABLE workers ADD COLUMN drained TEXT;
