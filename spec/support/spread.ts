import { type ChildProcess, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { fileURLToPath } from 'node:url';

/** A share of a long run, and what came of it. */
export interface Done<Share, Outcome> {
  share: Share;
  outcome: Outcome;
}

/**
 * Has shares of a long run played in as many processes as there are processors, and yields what came of each as
 * it comes. What a share is depends on nothing but itself, so that how many processes there are changes nothing but
 * the time. The processes end with the loop.
 * @param module a module that calls `playShares`
 * @param shares asked for the next one whenever a process has nothing to do
 * @throws Error when a process ends before its share does
 */
export async function* spread<Share, Outcome>(
  module: URL,
  shares: Iterable<Share>,
  processes = availableParallelism(),
): AsyncGenerator<Done<Share, Outcome>> {
  const source = shares[Symbol.iterator]();
  const children: ChildProcess[] = [];
  const underWay = new Map<ChildProcess, Promise<{ child: ChildProcess } & Done<Share, Outcome>>>();
  const give = (child: ChildProcess) => {
    const { value, done } = source.next();
    if (done) return;
    const played = playedBy<Share, Outcome>(child, value);
    // Of those that are under way when the loop ends nobody wants to know.
    played.catch(() => {});
    underWay.set(child, played);
  };
  try {
    for (let i = 0; i < processes; i++) {
      const child = fork(fileURLToPath(module), { execArgv: ['--import', 'tsx'] });
      children.push(child);
      give(child);
      if (!underWay.has(child)) break;
    }
    while (underWay.size > 0) {
      const { child, share, outcome } = await Promise.race(underWay.values());
      underWay.delete(child);
      give(child);
      yield { share, outcome };
    }
  } finally {
    // They end with the connection, in the middle of a share as well.
    for (const child of children) if (child.connected) child.disconnect();
  }
}

function playedBy<Share, Outcome>(child: ChildProcess, share: Share) {
  return new Promise<{ child: ChildProcess } & Done<Share, Outcome>>((resolve, reject) => {
    const ended = () => reject(new Error(`a process ended in the middle of ${JSON.stringify(share)}`));
    child.once('exit', ended);
    child.once('message', (outcome: Outcome) => {
      child.off('exit', ended);
      resolve({ child, share, outcome });
    });
    child.send(share as object);
  });
}

/** The other side of `spread`, in the process of its own. A fault that is thrown ends the process. */
export function playShares<Share, Outcome>(play: (share: Share) => Promise<Outcome>): void {
  for (const end of ['disconnect', 'SIGINT', 'SIGTERM']) process.once(end, () => process.exit());
  process.on('message', (share: Share) => {
    play(share).then(
      (outcome) => process.send?.(outcome),
      (fault: unknown) => {
        process.stderr.write(`${(fault as Error).stack}\n`);
        process.exit(1);
      },
    );
  });
}
