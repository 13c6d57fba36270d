import type { Backend, EventQuery, JobQuery, LiveEvent, Pieces } from '../../gateway/backend.ts';
import { RawJson } from '../../machines/json/raw.ts';
import type { ArtifactView, EventView, JobView, TaskView, WorkerView } from '../../machines/schema/views.ts';

/** A text that comes in pieces, whole. */
export async function textOf(pieces: Pieces): Promise<string> {
  let text = '';
  for await (const piece of pieces) text += piece;
  return text;
}

const parsed = async <T>(pieces: Pieces): Promise<T> => JSON.parse(await textOf(pieces)) as T;

/** What can be read of a cluster, as a client reads it. */
export const seen = ({ reads }: Backend) => ({
  jobs: (query: JobQuery) => parsed<JobView[]>(reads.jobs(query)),
  job: (id: string) => parsed<JobView>(reads.job(id)),
  tasks: (job_id: string) => parsed<TaskView[]>(reads.tasks({ job_id })),
  artifactsOf: (job_id: string, task_id: string) =>
    parsed<ArtifactView[]>(reads.jobArtifacts({ job_id, task_id })),
  jobArtifacts: (id: string) => parsed<ArtifactView[]>(reads.jobArtifacts({ job_id: id })),
  workers: () => parsed<WorkerView[]>(reads.workers()),
  events: (query: EventQuery) => parsed<EventView[]>(reads.eventList(query)),
});

/** A job's view as a client reads it. */
export const readJob = (port: Backend, id: string): Promise<JobView> => seen(port).job(id);

/** The views of a job's tasks as a client reads them, numbers and all. */
export const readTasks = (port: Backend, jobId: string): Promise<TaskView[]> => seen(port).tasks(jobId);

/** A read as the fake port gives it. */
export async function* piecesOf(value: unknown): AsyncGenerator<string> {
  yield JSON.stringify(value);
}

/** A read that fails before its first piece. */
// biome-ignore lint/correctness/useYield: it never comes to that
export async function* failing(fault: unknown): AsyncGenerator<string> {
  throw fault;
}
/** Committed events as clients get them. */
export const asSent = (events: readonly LiveEvent[]): EventView[] =>
  events.map(({ data, ...event }) => ({
    ...event,
    data: (data instanceof RawJson ? data.parse() : data) as EventView['data'],
  }));
