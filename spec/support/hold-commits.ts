import type { TestCluster } from './cluster.ts';
import { deferred } from './deferred.ts';

/** Holds up the next commits, before or after they are durable, until the test says how they end. */
export function holdCommits(cluster: TestCluster, when: 'beforeCommit' | 'afterCommit') {
  let begun = 0;
  const [first, held] = [deferred(), deferred()];
  held.promise.catch(() => {});
  cluster.faults[when] = () => {
    begun++;
    first.resolve();
    return held.promise;
  };
  return {
    /** Resolves when a commit is held up. */
    first: first.promise,
    /** How many commits came so far. */
    begun: () => begun,
    release: () => {
      delete cluster.faults[when];
      held.resolve();
    },
    fail: (code: string) => {
      delete cluster.faults[when];
      held.reject(Object.assign(new Error(code), { code }));
    },
  };
}
