// The server in a process of its own, put together as jq-server does it, on a clock that goes when it is told to:
// `server-process.ts '{"home": "…", "at": …, "config": {…}}'`. What it starts in its turn, backups, has the same date.
import { join } from 'node:path';
import { setImmediate as tick } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { ServerConfig } from '../../bin/programs/server-config.ts';
import { StepClock } from '../support/step-clock.ts';
import type { Answer, Order } from './orders.ts';

interface Launch {
  /** The folder of the installation. */
  home: string;
  /** Seconds since the epoch. */
  at: number;
  config: ServerConfig;
}

/** Rounds of the event loop in which what has come due has begun. */
const ROUNDS = 5;

/** Time that goes on when it is told to; what is due at once does not wait for that. */
class YearClock extends StepClock {
  override timer(seconds: number, callback: () => void): () => void {
    if (seconds > 0) return super.timer(seconds, callback);
    const due = setImmediate(callback);
    return () => clearImmediate(due);
  }

  override moveTo(monotonic: number): boolean {
    const moved = super.moveTo(monotonic);
    process.env.JQ_YEAR_AT = String(this.now());
    return moved;
  }
}

const { home, at, config } = JSON.parse(process.argv[2] as string) as Launch;
const clock = new YearClock();
clock.jump(at - clock.now());
clock.moveTo(clock.monotonic());
// Whatever asks for the date without this clock.
Date.now = () => clock.now() * 1000;

/** After how many more commits it kills itself, before or after they are durable. */
const dies = { before: 0, after: 0 };
const countdown = (when: 'before' | 'after') => async () => {
  if (dies[when] > 0 && --dies[when] === 0) process.kill(process.pid, 'SIGKILL');
};

const { startServer } = (await import(
  pathToFileURL(join(home, 'bin/programs/server.ts')).href
)) as typeof import('../../bin/programs/server.ts');
const began = performance.now();
const server = await startServer({
  ...config,
  clock,
  hooks: { beforeCommit: countdown('before'), afterCommit: countdown('after') },
});
const startMs = performance.now() - began;

/** Until nothing goes on any more but what waits for time. */
async function rest(): Promise<void> {
  for (;;) {
    for (let i = 0; i < ROUNDS; i++) await tick();
    if (!server.idle) return;
    await server.idle;
  }
}

/** Goes to a second of the wall clock, from timer to timer. */
async function advance(to: number): Promise<void> {
  const end = clock.monotonic() + to - clock.now();
  while (clock.nextAt <= end) {
    clock.moveTo(clock.nextAt);
    await rest();
  }
  clock.moveTo(end);
}

async function obey(order: Order): Promise<object> {
  if (order.do === 'advance') await advance(order.to);
  else if (order.do === 'die') dies[order.when] = order.commits;
  else if (order.do === 'reload') await server.reload();
  else {
    // What the first collection frees of buffers, the second gives back.
    for (let i = 0; i < 2; i++) {
      global.gc?.();
      await tick();
    }
    return process.memoryUsage();
  }
  return {};
}

process.on('message', async ({ id, order }: { id: number; order: Order }) => {
  const answer: Answer = await obey(order).then(
    (said) => ({ id, said }),
    (fault: Error) => ({ id, fault: fault.message }),
  );
  process.send?.(answer);
});
process.once('disconnect', () => process.exit());
process.once('SIGTERM', () => server.stop().then(() => process.exit(0)));
process.send?.({ id: 0, said: { startMs } } satisfies Answer);
