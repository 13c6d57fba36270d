-- The order of a job's ranking, and which peers of other versions were noted: read at every look, and at every start.
CREATE INDEX tasks_ranked ON tasks (job_id, rank_value, seq) WHERE status = 'succeeded';
CREATE INDEX events_divergence ON events (id) WHERE type = 'version_divergence';
