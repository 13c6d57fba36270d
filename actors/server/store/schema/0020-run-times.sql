-- How long attempts at the tasks of a job run (machines/job/run-times.ts), and when those began that run now.
ALTER TABLE jobs ADD COLUMN run_times TEXT;
UPDATE jobs SET run_times = (
    SELECT json_object('count', 0, 'mean', 0, 'squares', 0, 'since', sum(ifnull(t.started_at, jobs.created_at) - jobs.created_at))
    FROM tasks t WHERE t.job_id = jobs.id AND t.status = 'running')
  WHERE id IN (SELECT job_id FROM tasks WHERE status = 'running');
