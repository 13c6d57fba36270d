import type { Logger } from 'pino';
import { Type } from 'typebox';
import type { ClusterClient } from '../../../gateway/client/client.ts';
import { readAs } from '../../../gateway/client/replies.ts';
import type { Registration, Result } from '../../../machines/agent/types.ts';
import type { Lease } from '../../../machines/attempt/attempt.ts';
import { at, elements } from '../../../machines/json/raw.ts';
import { TaskPayload } from '../../../machines/schema/lease.ts';
import { understand } from '../../../machines/schema/lenient.ts';
import { sleep } from './backoff.ts';
import { isAbort, kindOf, linkErrorOf } from './link-errors.ts';

/** Beyond the wait that was asked for, how long an answer may take. */
const PATIENCE_MS = 15_000;
/** A server that does not wait is not asked more often. */
const SHORTEST_ROUND_MS = 1_000;
const MAX_TASKS = 1_000;

/** How often a withdrawal is repeated: it may have overtaken the request that it is about. */
const WITHDRAWAL_MS = 200;

export interface LeaseContext {
  client: ClusterClient;
  log: Logger;
  waitSeconds: number;
}

/** The requests for work of one worker program, of which one is under way at a time. */
export class LeaseRequests {
  readonly #context: LeaseContext;
  #withdrawn = new AbortController();

  constructor(context: LeaseContext) {
    this.#context = context;
  }

  /**
   * Asks for as many tasks as there are free slots, in one request: one waiting request a worker is enough, since
   * the server fills several slots in one turn, and with one there is no second that could grab too much.
   */
  async ask(registered: Registration, free: number, signal: AbortSignal): Promise<Result<Lease[]>> {
    const { client, log, waitSeconds } = this.#context;
    const withdrawn = new AbortController();
    this.#withdrawn = withdrawn;
    const startedAt = performance.now();
    try {
      const text = await client.callText('lease', {
        params: { id: registered.worker_id },
        body: {
          wait_s: waitSeconds,
          max_tasks: Math.min(free, MAX_TASKS),
          session: registered.session,
        },
        timeoutMs: waitSeconds * 1000 + PATIENCE_MS,
        signal,
      });
      const leases = leasesOf(text, registered.worker_id, log);
      const early = SHORTEST_ROUND_MS - (performance.now() - startedAt);
      if (leases.length === 0 && early > 0) {
        await sleep(early, AbortSignal.any([signal, withdrawn.signal])).catch(() => signal.throwIfAborted());
      }
      return { ok: true, value: leases };
    } catch (error) {
      if (isAbort(error)) throw error;
      return { ok: false, linkError: linkErrorOf(error, registered) };
    }
  }

  /**
   * Has the request under way answered now (docs/protocol.md#lease, `max_tasks` 0), which tells whether a task came
   * with it. Repeats that until it is aborted; rejects where the server does not know of it.
   */
  async withdraw(registered: Registration, signal: AbortSignal): Promise<void> {
    this.#withdrawn.abort();
    // Who opens no sessions may not know of withdrawals either, and would lease a task to one.
    if (registered.session === undefined) return forGood(signal);
    for (;;) {
      try {
        const params = { id: registered.worker_id };
        await this.#context.client.call('lease', {
          params,
          body: { max_tasks: 0, session: registered.session },
          signal,
        });
      } catch (error) {
        if (kindOf(error) !== 'transient') throw error;
      }
      await sleep(WITHDRAWAL_MS, signal);
    }
  }
}

const forGood = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });

/**
 * The tasks of a lease answer, each with the text it came in. What servers of other make leave out is filled in; a task
 * that lacks more than that is taken all the same, and fails with what it lacks. Only of one without an id nothing can
 * be reported.
 * @throws UnreadableAnswer
 */
export function leasesOf(text: string, workerId: string, log: Logger): Lease[] {
  if (text.trim() === '' || text.trim() === 'null') return [];
  readAs(Type.Object({}), text, 'the answer to a request for work');
  const tasks = at(text, 'tasks');
  const texts = tasks === undefined || tasks === 'null' ? [at(text, 'task') ?? 'null'] : elements(tasks);
  return texts.flatMap((task) => {
    if (task === 'null') return [];
    const { value: payload, missing } = understand(TaskPayload, JSON.parse(task));
    const { task_id, attempt } = payload;
    if (task_id === '') {
      log.error({ task: task.slice(0, 500) }, 'the server leased a task without an id');
      return [];
    }
    // One of them says what runs.
    if (payload.pipeline === undefined && payload.model === undefined) missing.unshift('/pipeline');
    return [{ ref: { task_id, attempt, worker_id: workerId }, payload, text: task, missing }];
  });
}
