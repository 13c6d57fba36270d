import { setImmediate } from 'node:timers/promises';
import { compose, RawJson } from '../../../machines/json/raw.ts';
import { slices } from '../../../machines/json/slices.ts';
import type { LeasedTask } from '../../messages.ts';
import { StreamedReply } from '../route.ts';

/** Characters beyond which an answer is sent in pieces, no faster than its worker reads. */
const LARGE = 64 * 1024;

/** Pieces that are sent without a break. */
const AT_ONCE = 16;

/** Which leases an answer carries, should it not arrive. */
interface CarriesLeases {
  readonly leased: readonly LeasedTask[];
}

class WholeReply extends RawJson implements CarriesLeases {
  readonly leased: readonly LeasedTask[];
  constructor(text: string, leased: readonly LeasedTask[]) {
    super(text);
    this.leased = leased;
  }
}

class ReplyInPieces extends StreamedReply implements CarriesLeases {
  readonly leased: readonly LeasedTask[];
  constructor(pieces: AsyncGenerator<string>, leased: readonly LeasedTask[]) {
    super(pieces);
    this.leased = leased;
  }
}

/**
 * What a worker is answered that asked for work.
 * @param several whether it asked for several, and so gets a list as well
 */
export function leaseReply(
  tasks: readonly LeasedTask[],
  { several, handedOut }: { several: boolean; handedOut: (() => void) | undefined },
): WholeReply | ReplyInPieces {
  const size = tasks.reduce((sum, { payload }) => sum + payload.text.length, 0);
  if (size > LARGE) return new ReplyInPieces(pieces(tasks, several, handedOut), tasks);
  handedOut?.();
  const payloads = tasks.map(({ payload }) => payload);
  const text = compose({ task: payloads[0] ?? null, tasks: several ? payloads : undefined });
  return new WholeReply(text, tasks);
}

export const leasedIn = (answer: unknown): readonly LeasedTask[] =>
  answer instanceof WholeReply || answer instanceof ReplyInPieces ? answer.leased : [];

async function* pieces(
  tasks: readonly LeasedTask[],
  several: boolean,
  handedOut: (() => void) | undefined,
): AsyncGenerator<string> {
  try {
    yield '{"task":';
    yield* inSlices(tasks[0]?.payload.text ?? 'null');
    if (several) {
      let before = ',"tasks":[';
      for (const { payload } of tasks) {
        yield before;
        yield* inSlices(payload.text);
        before = ',';
      }
      yield ']';
    }
    yield '}';
  } finally {
    handedOut?.();
  }
}

/** They come from memory: where a client reads quickly, nothing else lets others be served in between. */
async function* inSlices(text: string): AsyncGenerator<string> {
  let sent = 0;
  for (const slice of slices(text, LARGE)) {
    yield slice;
    if (++sent % AT_ONCE === 0) await setImmediate();
  }
}
