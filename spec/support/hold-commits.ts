import type { TestCluster } from './cluster.ts';

/** Holds up the next commits, before or after they are durable, until the test says how they end. */
export function holdCommits(cluster: TestCluster, when: 'beforeCommit' | 'afterCommit') {
  let begun = 0;
  let end: (fault?: Error) => void = () => {};
  let reached: () => void = () => {};
  const first = new Promise<void>((resolve) => {
    reached = resolve;
  });
  const held = new Promise<void>((resolve, reject) => {
    end = (fault) => (fault ? reject(fault) : resolve());
  });
  held.catch(() => {});
  cluster.faults[when] = () => {
    begun++;
    reached();
    return held;
  };
  return {
    /** Resolves when a commit is held up. */
    first,
    /** How many commits came so far. */
    begun: () => begun,
    release: () => {
      delete cluster.faults[when];
      end();
    },
    fail: (code: string) => {
      delete cluster.faults[when];
      end(Object.assign(new Error(code), { code }));
    },
  };
}
