import type { ClusterPort, LiveEvent } from '../../gateway/ports.ts';
import { compose, RawJson } from '../../machines/json/raw.ts';
import type { EventView, JobView, TaskView } from '../../machines/schema/views.ts';

/** A job's view as a client reads it. */
export const readJob = async ({ reads }: ClusterPort, id: string): Promise<JobView> =>
  JSON.parse(compose(await reads.job(id))) as JobView;

/** The views of a job's tasks as a client reads them, numbers and all. */
export const readTasks = async ({ reads }: ClusterPort, jobId: string): Promise<TaskView[]> =>
  JSON.parse(compose(await reads.tasks(jobId))) as TaskView[];

/** Committed events as clients get them. */
export const asSent = (events: readonly LiveEvent[]): EventView[] =>
  events.map(({ data, ...event }) => ({
    ...event,
    data: (data instanceof RawJson ? data.parse() : data) as EventView['data'],
  }));
