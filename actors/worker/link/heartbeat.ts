import { setTimeout as delay } from 'node:timers/promises';
import type { ClusterClient } from '../../../gateway/client/client.ts';
import type { LinkEvent, Registration, Result, ToCancel } from '../../../machines/agent/types.ts';
import type { ActiveTask } from '../../../machines/schema/worker.ts';
import { ActiveList } from './active-list.ts';
import { isAbort, linkErrorOf } from './link-errors.ts';

/** A change that the server should know of is sent at once, but those of the same moment together. */
const JOIN_MS = 20;
/** Other changes are sent together: a worker of many small tasks has hundreds a second. */
const LIST_MS = 1_000;
/** Beyond the held time, how long an answer may take. */
const PATIENCE_MS = 15_000;
/** After an answer that came early and brought nothing; four times as long after each further one. */
const EARLY_MS = 250;
/** Whatever interval a server names. */
const SHORTEST_INTERVAL_MS = 100;
/** Characters of the reason why a worker is suspended, that a server takes. */
const LONGEST_REASON = 1_000;
/** For which a worker that ends waits for an answer to that. */
const LEAVE_MS = 2_000;
/** Heartbeats that a newer one overtook and that the server has not answered yet. */
const MAX_OVERTAKEN = 4;

export interface HeartbeatContext {
  client: ClusterClient;
  registered: Registration;
  active: ActiveList;
}

/** One heartbeat, held by the server for `waitSeconds` at most; gives the tasks that it wants stopped. */
export async function beat(
  { client, registered, active }: HeartbeatContext,
  waitSeconds: number,
  signal: AbortSignal,
): Promise<ToCancel[]> {
  const sent = active.tasks;
  const { cancel_task_ids } = await client.call('heartbeat', {
    params: { id: registered.worker_id },
    body: {
      active: [...sent],
      wait_s: waitSeconds,
      session: registered.session,
      ...(active.suspended !== null && { suspended: active.suspended.slice(0, LONGEST_REASON) }),
      ...(active.leaving !== null && { leaving: active.leaving }),
    },
    timeoutMs: waitSeconds * 1000 + PATIENCE_MS,
    signal,
  });
  return cancel_task_ids.map((task_id) => ({ task_id, attempt: attemptIn(sent, task_id) }));
}

/** The answer names tasks, not attempts: it is about those that the request listed. */
const attemptIn = (sent: readonly ActiveTask[], id: string): number | null =>
  sent.find((task) => task.task_id === id)?.attempt ?? null;

/** One heartbeat that is answered at once: whether the server is there again. */
export async function rejoin(context: HeartbeatContext, signal: AbortSignal): Promise<Result<ToCancel[]>> {
  try {
    return { ok: true, value: await beat(context, 0, signal) };
  } catch (error) {
    return { ok: false, linkError: linkErrorOf(error, context.registered) };
  }
}

/**
 * The last heartbeat: nobody has to wait for the silence of this worker. A server that does not answer soon is left.
 */
export async function takeLeave({ client, registered }: Omit<HeartbeatContext, 'active'>): Promise<void> {
  const active = new ActiveList();
  active.set([], null, 'stopped');
  await beat({ client, registered, active }, 0, AbortSignal.timeout(LEAVE_MS)).catch(() => {});
}

/**
 * Beats until it is stopped. One request is always held by the server for one interval, so that a cancellation
 * arrives in milliseconds; the next goes out when it ends, or when the list of tasks has changed. The server
 * then answers the overtaken one.
 * @param atOnce whether the first is to be answered at once, as after a sleep
 * @returns the way to stop
 */
export function startHeartbeats(
  context: HeartbeatContext,
  tell: (event: LinkEvent) => void,
  atOnce = false,
): () => void {
  const stopping = new AbortController();
  const { signal } = stopping;
  const stop = () => stopping.abort();
  loop(context, signal, tell, atOnce).catch((error: unknown) => {
    if (signal.aborted || isAbort(error)) return;
    stop();
    tell({ type: 'LINK_ERROR', linkError: linkErrorOf(error, context.registered) });
  });
  return stop;
}

async function loop(
  context: HeartbeatContext,
  signal: AbortSignal,
  tell: (event: LinkEvent) => void,
  atOnce: boolean,
) {
  let held = atOnce ? 0 : context.registered.heartbeat_interval_s;
  const intervalMs = Math.max(SHORTEST_INTERVAL_MS, context.registered.heartbeat_interval_s * 1000);
  const overtaken = new Set<Beat>();
  let early = 0;
  while (!signal.aborted) {
    const change = new Change(context.active);
    try {
      const startedAt = performance.now();
      const current = new Beat(context, held, signal, tell);
      await Promise.race([current.ended, change.happened]);
      if (current.fault !== undefined) throw current.fault;
      if (current.answered) {
        // Not waited out after one that was to be answered at once.
        const left = held === 0 ? 0 : intervalMs - (performance.now() - startedAt);
        held = context.registered.heartbeat_interval_s;
        early = left > intervalMs / 2 && !change.seen ? early + 1 : 0;
        const wait = Math.min(left, early === 0 ? 0 : EARLY_MS * 4 ** (early - 1));
        if (wait > 0) await Promise.race([delay(wait, undefined, { signal }), change.happened]);
      } else {
        early = 0;
        overtaken.add(current);
        void current.ended.then(() => overtaken.delete(current));
        if (overtaken.size > MAX_OVERTAKEN) [...overtaken][0]?.abort();
      }
    } finally {
      change.end();
    }
    if (change.seen) await delay(JOIN_MS, undefined, { signal });
  }
}

/** A heartbeat under way, which tells its own answer, whether or not a newer one has overtaken it. */
class Beat {
  answered = false;
  fault: unknown;
  /** Never rejects. */
  readonly ended: Promise<void>;
  readonly #own = new AbortController();

  constructor(
    context: HeartbeatContext,
    waitSeconds: number,
    signal: AbortSignal,
    tell: (event: LinkEvent) => void,
  ) {
    const abort = () => this.abort();
    signal.addEventListener('abort', abort, { once: true });
    this.ended = beat(context, waitSeconds, this.#own.signal).then(
      (tasks) => {
        signal.removeEventListener('abort', abort);
        this.answered = true;
        if (signal.aborted) return;
        tell({ type: 'BEAT' });
        if (tasks.length > 0) tell({ type: 'CANCEL', tasks });
      },
      (error: unknown) => {
        signal.removeEventListener('abort', abort);
        this.fault = error;
      },
    );
  }

  abort(): void {
    this.#own.abort();
  }
}

/** The next change of the list, once it is time to send it. */
class Change {
  seen = false;
  readonly happened: Promise<void>;
  #off: () => void = () => {};
  #timer: NodeJS.Timeout | undefined;

  constructor(active: ActiveList) {
    this.happened = new Promise((resolve) => {
      const send = () => {
        this.seen = true;
        resolve();
      };
      this.#off = active.onChange((pressing) => {
        if (pressing) send();
        else this.#timer ??= setTimeout(send, LIST_MS);
      });
    });
  }

  end(): void {
    this.#off();
    clearTimeout(this.#timer);
  }
}
