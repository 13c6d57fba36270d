-- That a job has ended, and the receiver of notifications does not know yet.
CREATE TABLE notifications (
  -- That of the event.
  id INTEGER PRIMARY KEY,
  job_id TEXT NOT NULL,
  -- What is sent, to the letter.
  body TEXT NOT NULL,
  created_at REAL NOT NULL,
  -- Tries that failed, why the last did, and when the next one is due.
  attempts INTEGER NOT NULL,
  error TEXT,
  next_at REAL NOT NULL
);
CREATE INDEX notifications_next ON notifications (next_at);
