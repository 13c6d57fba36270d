-- Which other jobs have the results of a job: each is found once, however many of its tasks have some.
DROP INDEX tasks_reused;
CREATE INDEX tasks_reused ON tasks (reused_from ->> 'job_id', job_id) WHERE reused_from IS NOT NULL;
