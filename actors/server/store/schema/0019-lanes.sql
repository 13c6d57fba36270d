-- What nothing is leased of at present: everything, a type or an owner; who paused it, and when.
CREATE TABLE pauses (
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  by TEXT NOT NULL,
  at REAL NOT NULL,
  PRIMARY KEY (kind, name)
) WITHOUT ROWID;
-- Requirements are told apart by owner and type, so that a queue of them can be paused, or take turns with others.
CREATE TABLE lanes (
  id INTEGER PRIMARY KEY,
  signature TEXT NOT NULL,
  document TEXT NOT NULL,
  owner TEXT NOT NULL,
  type TEXT NOT NULL,
  UNIQUE (signature, owner, type)
);
INSERT INTO lanes SELECT id, signature, document, '', '' FROM requirements;
INSERT INTO lanes (signature, document, owner, type)
  SELECT DISTINCT r.signature, r.document, j.owner, j.type
  FROM tasks t JOIN jobs j ON j.id = t.job_id JOIN requirements r ON r.id = t.requirement_id
  WHERE t.status IN ('queued', 'leased', 'running', 'failed');
UPDATE tasks SET requirement_id = n.id FROM jobs j, requirements o, lanes n
  WHERE tasks.status IN ('queued', 'leased', 'running', 'failed') AND j.id = tasks.job_id
    AND o.id = tasks.requirement_id AND n.signature = o.signature AND n.owner = j.owner AND n.type = j.type;
DROP TABLE requirements;
ALTER TABLE lanes RENAME TO requirements;
