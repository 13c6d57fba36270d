import { isDeepStrictEqual } from 'node:util';
import type { EventView } from '../../machines/schema/views.ts';
import type { Act } from './acts.ts';
import type { Answer, Told, World } from './world.ts';

/** Ids of the system by the names that the reference gave, both ways. */
export class Names {
  readonly #ids: Map<string, string>;
  readonly #names: Map<string, string>;

  constructor(other?: Names) {
    this.#ids = new Map(other ? other.#ids : []);
    this.#names = new Map(other ? other.#names : []);
  }

  idOf = (name: string): string => {
    const id = this.#ids.get(name);
    if (id === undefined) throw new Error(`${name} has no id`);
    return id;
  };

  nameOf(id: string): string {
    return this.#names.get(id) ?? id;
  }

  /** False when either of the two is known under another. */
  bind(name: string, id: string): boolean {
    if ((this.#ids.get(name) ?? id) !== id || (this.#names.get(id) ?? name) !== name) return false;
    this.#ids.set(name, id);
    this.#names.set(id, name);
    return true;
  }
}

/** What the system did with some requests. */
export interface Observation {
  /** By ticket: those that were answered since the last look. */
  answers: Map<number, { status: number; body: Record<string, unknown> }>;
  /** By job id, for jobs that were answered: the ids of its tasks. */
  tasks: Map<string, string[]>;
  events: EventView[];
}

/**
 * Whether the system did what the reference says.
 * @param grouped several requests were under way at once: an answer may have been read a moment later
 * @returns what does not fit, or null; `names` then knows what is new
 */
export function mismatch(
  world: World,
  acts: Map<number, Act>,
  observed: Observation,
  names: Names,
  grouped: boolean,
): string | null {
  const due = new Set([...Object.keys(world.answers).map(Number), ...observed.answers.keys()]);
  for (const [ticket, { body }] of observed.answers) bindNew(world.answers[ticket], body, observed, names);
  for (const ticket of due) {
    const expected = world.answers[ticket];
    const got = observed.answers.get(ticket);
    if (!expected || !got) {
      return `request ${ticket}: expected ${JSON.stringify(expected) ?? 'no answer yet'}, got ${JSON.stringify(got) ?? 'none'}`;
    }
    const actual = normalised(acts.get(ticket), got, names);
    if (!fits(expected, actual, grouped)) {
      return `request ${ticket}: expected ${JSON.stringify(expected)}, got ${JSON.stringify(actual)}`;
    }
  }
  return orderMismatch(world, observed, names) ?? eventMismatch(world.events, observed.events, names);
}

/** Jobs are served in the order in which they were taken up, which the times of their creation tell. */
function orderMismatch(world: World, observed: Observation, names: Names): string | null {
  const bodies = [...observed.answers.values()].map(({ body }) => body);
  const jobs = bodies.filter(
    ({ created_at, id }) => created_at !== undefined && names.nameOf(String(id)) in world.jobs,
  );
  const order = (by: (body: (typeof jobs)[number]) => number) =>
    [...new Set(jobs.sort((a, b) => by(a) - by(b)).map(({ id }) => names.nameOf(String(id))))].join();
  const places = Object.keys(world.jobs);
  const expected = order(({ id }) => places.indexOf(names.nameOf(String(id))));
  const actual = order(({ created_at }) => Number(created_at));
  return expected === actual
    ? null
    : `jobs were taken up in another order: expected ${expected}, got ${actual}`;
}

function bindNew(
  expected: Answer | undefined,
  body: Record<string, unknown>,
  observed: Observation,
  names: Names,
): void {
  const job = expected?.body?.job;
  if (typeof job === 'string' && typeof body.id === 'string' && names.bind(job, body.id)) {
    observed.tasks.get(body.id)?.forEach((id, i) => void names.bind(`${job}.${i}`, id));
  }
  const worker = expected?.body?.worker;
  if (typeof worker === 'string' && typeof body.worker_id === 'string') names.bind(worker, body.worker_id);
}

type Got = { status: number; body: Record<string, unknown> };

function normalised(act: Act | undefined, { status, body }: Got, names: Names): Answer {
  if (status !== 200) return { status, code: String(body.code) };
  const name = (id: unknown) => names.nameOf(String(id));
  switch (act?.act) {
    case 'submit':
      return { status, body: { job: name(body.id) } };
    case 'register':
      return { status, body: { worker: name(body.worker_id) } };
    case 'lease': {
      const tasks = body.tasks as { task_id: string; attempt: number }[];
      return { status, body: { tasks: tasks.map((t) => ({ task: name(t.task_id), attempt: t.attempt })) } };
    }
    case 'beat':
      return { status, body: { ok: body.ok, cancel: (body.cancel_task_ids as string[]).map(name).sort() } };
    case 'pause':
    case 'resume':
      return { status, body: { paused: (body.paused as { kind: string }[]).map(({ kind }) => kind).sort() } };
    case 'drain':
    case 'undrain':
      return { status, body: { operated: name(body.id) } };
    case 'cancel':
    case 'retry':
    case 'priority':
      return { status, body: { job: name(body.id), status: body.status } };
    default:
      return { status, body };
  }
}

function fits({ first, ...expected }: Answer, actual: Answer, grouped: boolean): boolean {
  const { cancel } = expected.body ?? {};
  if (Array.isArray(cancel)) {
    const told = actual.body?.cancel;
    // It is answered with the first slice of a job that is cancelled, or with the first of several deadlines.
    const isPart = first && Array.isArray(told) && told.length > 0;
    const wanted = cancel.filter((task) => !isPart || told.includes(task)).sort();
    return isDeepStrictEqual({ ...expected, body: { ...expected.body, cancel: wanted } }, actual);
  }
  if (grouped && expected.body && 'status' in expected.body && actual.body) {
    return isDeepStrictEqual({ ...expected.body, status: '' }, { ...actual.body, status: '' });
  }
  return isDeepStrictEqual(expected, actual);
}

/** Events must be the same for each job, task and worker, in order; between those, any order will do. */
function eventMismatch(expected: Told[], events: EventView[], names: Names): string | null {
  const actual = events.map((event): Told => toldOf(event, names));
  const [left, right] = [bySubject(expected), bySubject(actual)];
  for (const subject of new Set([...left.keys(), ...right.keys()])) {
    if (isDeepStrictEqual(left.get(subject), right.get(subject))) continue;
    return `events of ${subject}: expected ${JSON.stringify(left.get(subject))}, got ${JSON.stringify(right.get(subject))}`;
  }
  return null;
}

const WITH_ATTEMPT = /^task_/;
const WITHOUT_WORKER = /^(job_)/;

function toldOf(event: EventView, names: Names): Told {
  const { type, data } = event;
  return {
    type,
    ...(event.job_id === null ? {} : { job: names.nameOf(event.job_id) }),
    ...(event.task_id === null ? {} : { task: names.nameOf(event.task_id) }),
    ...(WITHOUT_WORKER.test(type)
      ? {}
      : { worker: event.worker_id === null ? null : names.nameOf(event.worker_id) }),
    ...(WITH_ATTEMPT.test(type) ? { attempt: data.attempt as number } : {}),
    ...(type === 'task_failed' ? { requeued: data.requeued as boolean } : {}),
  };
}

function bySubject(events: Told[]): Map<string, Told[]> {
  const lists = new Map<string, Told[]>();
  for (const event of events) {
    const subject = event.task ?? event.job ?? event.worker ?? 'nobody';
    lists.set(subject, [...(lists.get(subject) ?? []), event]);
  }
  return lists;
}
