import { setTimeout as delay } from 'node:timers/promises';
import type { ClusterClient } from '../../../gateway/client/client.ts';
import { ResponseError, UnreachableError } from '../../../gateway/client/errors.ts';
import { type EventFrame, eventFrames } from '../../../gateway/client/event-stream.ts';
import { readAs } from '../../../gateway/client/replies.ts';
import { hasEnded } from '../../../machines/schema/statuses.ts';
import { EventView, type JobView } from '../../../machines/schema/views.ts';

/** Events of one page of history; the server's most. */
const PAGE = 5000;
/** Failed tries in a row before the server counts as gone: about a minute, with the stream's delays. */
export const MAX_RETRIES = 18;

const ENDS = ['job_succeeded', 'job_failed', 'job_cancelled'];

export interface Follow {
  client: ClusterClient;
  jobId: string;
  /** Only events after this id. */
  afterId?: number;
  signal: AbortSignal;
  /** Told at each lost connection, with the seconds until the next try. */
  onRetry: (why: string, seconds: number) => void;
}

/** The stored events of a job in order, page by page. */
export async function* history(
  client: ClusterClient,
  jobId: string,
  afterId = 0,
): AsyncGenerator<EventFrame, void, void> {
  for (let after = afterId; ; ) {
    const query = { after_id: after, limit: PAGE };
    const page = await client.callList('listJobEvents', { params: { id: jobId }, query });
    for (const text of page) {
      const event = readAs(EventView, text, 'an event of the job');
      after = event.id;
      yield { event, text };
    }
    if (page.length < PAGE) return;
  }
}

/**
 * The events of a job, history first, then live, until the job has ended; none is missed or doubled when the
 * connection is lost. Returns the ended job, or null when the signal came first.
 * @throws UnreachableError once the server has been away for about a minute
 */
export async function* followJob(follow: Follow): AsyncGenerator<EventFrame, JobView | null, void> {
  const { client, jobId, afterId, signal, onRetry } = follow;
  const job = await getJob(follow);
  if (hasEnded(job.status)) {
    yield* history(client, jobId, afterId);
    return job;
  }
  const over = new AbortController();
  const frames = eventFrames({
    client,
    jobId,
    afterId: afterId ?? 0,
    signal: AbortSignal.any([signal, over.signal]),
    onRetry,
    maxRetries: MAX_RETRIES,
  });
  let last = afterId ?? 0;
  try {
    for (let next = frames.next(); ; ) {
      const step = await within(SILENCE_MS, next);
      if (step?.done) return null;
      if (step) {
        const { event } = step.value;
        last = event.id;
        yield step.value;
        next = frames.next();
        if (!ENDS.includes(event.type)) continue;
      }
      // It may be an old end, of a job that was retried since; and reports may come after the end.
      const now = await again(follow, () => getJob(follow));
      if (!hasEnded(now.status)) continue;
      yield* history(client, jobId, last);
      return now;
    }
  } finally {
    over.abort();
  }
}

/**
 * Milliseconds without an event after which the job is asked for itself: not every server tells its end by these words.
 */
const SILENCE_MS = 10_000;

/** What a promise brings, or null when it takes longer. */
async function within<T>(ms: number, promise: Promise<T>): Promise<T | null> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<null>((resolve) => {
    timer = setTimeout(resolve, ms, null);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

const getJob = ({ client, jobId, signal }: Follow): Promise<JobView> =>
  client.call('getJob', { params: { id: jobId }, signal });

/** Asks until the server answers, for as long as the stream would try. */
async function again<T>({ signal, onRetry }: Follow, ask: () => Promise<T>): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await ask();
    } catch (error) {
      const away = error instanceof UnreachableError || (error instanceof ResponseError && error.transient);
      if (!away || signal.aborted || failures > MAX_RETRIES) throw error;
      const seconds = Math.min(5, 0.1 * 2 ** (failures - 1));
      onRetry(error.message, seconds);
      await delay(seconds * 1000, undefined, { signal }).catch(() => {});
    }
  }
}
