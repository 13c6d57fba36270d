import type { ClusterClient } from '../../../gateway/client/client.ts';
import { InvalidResponseError, ResponseError, unreachable } from '../../../gateway/client/errors.ts';
import type { Registration } from '../../../machines/agent/types.ts';
import { PREEMPTED, type TaskReport } from '../../../machines/schema/report.ts';
import { kindOf } from '../link/link-errors.ts';

/** What a server says at the registration that takes files with reports, and with that reports of many tasks. */
const REPORT_FILES = 'report_files';
/** Of one request, so that the server reads it at once; a longer report goes alone. */
const MOST_BYTES = 48 * 1024;
/** More than that is not put between others, nor does it bring files. */
export const LONG_REPORT = 1024 * 1024;
const MOST_REPORTS = 100;
/** A request that is out for so many milliseconds keeps the next one waiting no longer. */
const LATE_MS = 250;
/** The server may wait 30 s for its store before it answers the end of an attempt (docs/protocol.md#errors, 503). */
const END_MS = 45_000;
const START_MS = 30_000;
/** A server that takes longer for events is met later: a request for each task is not held for long. */
const EVENTS_MS = 5_000;

interface Waiting {
  report: TaskReport;
  text: string;
  /** Not with others: the server refused a request that it was in. */
  alone: boolean;
  resolve(answer: unknown): void;
  reject(fault: unknown): void;
}

/**
 * The reports of a worker. To a server that takes them so, those of one moment go in one request, and those that come
 * while one is under way go together in the next; to others each goes by itself. None is repeated here.
 */
export class Reports {
  readonly #client: ClusterClient;
  #joins = false;
  #takesBack = false;
  #waiting: Waiting[] = [];
  /** Requests that are neither answered nor late. */
  #fresh = 0;
  #isPlanned = false;

  constructor(client: ClusterClient) {
    this.#client = client;
  }

  /** Takes up what the server says of itself. */
  registered({ accepts }: Pick<Registration, 'accepts'>): void {
    this.#joins = accepts.includes(REPORT_FILES);
    this.#takesBack = accepts.includes(PREEMPTED);
  }

  /** Whether a task can be given back; else it counts as failed. */
  get takesBack(): boolean {
    return this.#takesBack;
  }

  /** Whether the end of an attempt may bring files. */
  get takeFiles(): boolean {
    return this.#joins;
  }

  /** Rejects like a request of its own would, and with `AbortError` once aborted. */
  send(report: TaskReport, signal?: AbortSignal): Promise<unknown> {
    const text = JSON.stringify(report);
    if (!this.#joins || text.length > LONG_REPORT) return this.#sendAlone(report, signal);
    return new Promise((resolve, reject) => {
      const mine: Waiting = { report, text, alone: false, resolve, reject };
      const abort = () => {
        this.#waiting = this.#waiting.filter((other) => other !== mine);
        reject(signal?.reason);
      };
      if (signal?.aborted) return abort();
      signal?.addEventListener('abort', abort, { once: true });
      mine.resolve = (answer) => {
        signal?.removeEventListener('abort', abort);
        resolve(answer);
      };
      mine.reject = (fault) => {
        signal?.removeEventListener('abort', abort);
        reject(fault);
      };
      this.#waiting.push(mine);
      this.#plan();
    });
  }

  #plan(): void {
    if (this.#isPlanned) return;
    this.#isPlanned = true;
    // What the same moment brings goes along.
    setImmediate(() => {
      this.#isPlanned = false;
      if (this.#fresh === 0 && this.#waiting.length > 0) void this.#sendBatch(this.#take());
    });
  }

  #take(): Waiting[] {
    let bytes = 0;
    let count = 0;
    for (const { text, alone } of this.#waiting) {
      bytes += text.length;
      const fits = bytes <= MOST_BYTES && count < MOST_REPORTS && !alone;
      if (count > 0 && !fits) break;
      count++;
      if (alone) break;
    }
    return this.#waiting.splice(0, count);
  }

  /** Never rejects. */
  async #sendBatch(batch: Waiting[]): Promise<void> {
    this.#fresh++;
    let isFresh = true;
    const next = () => {
      if (isFresh) this.#fresh--;
      isFresh = false;
      this.#plan();
    };
    const late = setTimeout(next, LATE_MS);
    try {
      const { results } = await this.#client.call('reportMany', {
        text: `{"reports":[${batch.map(({ text }) => text).join(',')}]}`,
        timeoutMs: Math.max(...batch.map(({ report }) => timeoutOf(report))),
      });
      for (const [i, waiting] of batch.entries()) {
        const result = results[i];
        if (result?.ok) waiting.resolve(result);
        else if (result) waiting.reject(new ResponseError(result.status ?? 500, result.error));
        else
          waiting.reject(new InvalidResponseError('the answer tells of fewer reports than were sent', false));
      }
    } catch (cause) {
      const fault = this.#joined(cause);
      // One that is not valid spoils the request for its neighbours, which are sent again without it.
      const isOfOne = kindOf(fault) === 'final' && batch.length > 1;
      if (isOfOne) this.#waiting.unshift(...batch.map((waiting) => Object.assign(waiting, { alone: true })));
      else for (const waiting of batch) waiting.reject(fault);
    } finally {
      clearTimeout(late);
      next();
    }
  }

  /**
   * A server that knows the path no more has been replaced by an older one: whoever repeats a report sends it alone.
   */
  #joined(error: unknown): unknown {
    const isUnknown =
      error instanceof ResponseError &&
      (error.code === 'unknown_path' || error.code === 'method_not_allowed');
    if (!isUnknown) return error;
    this.#joins = false;
    return unreachable(this.#client.server, error);
  }

  #sendAlone(report: TaskReport, signal: AbortSignal | undefined): Promise<unknown> {
    const { task_id, worker_id, attempt } = report;
    const aim = {
      params: { id: task_id },
      query: { worker_id: worker_id as string, attempt },
      timeoutMs: timeoutOf(report),
      ...(signal && { signal }),
    };
    switch (report.type) {
      case 'start':
        return this.#client.call('startTask', aim);
      case 'events':
        return this.#client.call('reportEvents', { ...aim, body: { events: report.events } });
      case 'complete':
        return this.#client.call('completeTask', { ...aim, body: report.result });
      case 'fail':
        return this.#client.call('failTask', { ...aim, body: report.failure });
    }
  }
}

const timeoutOf = ({ type }: TaskReport): number =>
  type === 'events' ? EVENTS_MS : type === 'start' ? START_MS : END_MS;
