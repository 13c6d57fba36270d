import type { ClusterPort } from '../../gateway/ports.ts';
import { compose } from '../../machines/json/raw.ts';
import type { JobView, TaskView } from '../../machines/schema/views.ts';

/** A job's view as a client reads it. */
export const readJob = async ({ reads }: ClusterPort, id: string): Promise<JobView> =>
  JSON.parse(compose(await reads.job(id))) as JobView;

/** The views of a job's tasks as a client reads them, numbers and all. */
export const readTasks = async ({ reads }: ClusterPort, jobId: string): Promise<TaskView[]> =>
  JSON.parse(compose(await reads.tasks(jobId))) as TaskView[];
