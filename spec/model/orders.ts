import type { Act } from './acts.ts';
import { expire, perform, reuseInSlices, settle } from './reference.ts';
import { endJob } from './rules.ts';
import type { Job, World } from './world.ts';

/**
 * All worlds in which requests that were under way at once were served in some order, in some turns; the likeliest
 * first. Who waits is answered at the end of a turn.
 */
export function* outcomes(world: World, acts: readonly Act[]): Generator<World> {
  // A job whose tasks are told slice by slice may be cancelled once more before it ends.
  const cancels = acts.flatMap((act) => (act.act === 'cancel' ? [act.job] : []));
  yield* outcomesOf({ ...world, inSlices: false }, acts);
  if (cancels.length > 0) yield* outcomesOf(world, acts);
  // One for which results are looked up is passed by what was submitted later.
  const looks = acts.some((act) => act.act === 'submit' && act.known && act.reuse && act.tasks > 1);
  if (looks || new Set(cancels).size < cancels.length)
    yield* outcomesOf({ ...world, inSlices: false, endsLate: true }, acts);
}

function* outcomesOf(world: World, acts: readonly Act[]): Generator<World> {
  for (const order of permutations(acts)) {
    for (let cuts = 0; cuts < 2 ** (acts.length - 1); cuts++) {
      const copy = structuredClone(world);
      order.forEach((act, i) => {
        perform(copy, act);
        if (i === order.length - 1 || cuts & (1 << i)) settle(copy);
      });
      for (const last of copy.endsLate ? lastSlices(copy) : [copy]) {
        expire(last);
        yield { ...last, inSlices: true, endsLate: false };
      }
    }
  }
}

/** All worlds in which the jobs that go on come to the end of their slices in some order. */
function* lastSlices(world: World): Generator<World> {
  const looking = Object.values(world.jobs).filter((job) => job.looking);
  for (const order of permutations(looking.map(({ name }) => name))) {
    const copy = structuredClone(world);
    for (const name of order) {
      reuseInSlices(copy, name);
      (copy.jobs[name] as Job).looking = false;
      settle(copy);
    }
    for (const job of Object.values(copy.jobs)) endJob(copy, job);
    settle(copy);
    yield copy;
  }
}

export function* permutations<T>(items: readonly T[]): Generator<T[]> {
  if (items.length <= 1) yield [...items];
  for (let i = 0; i < items.length && items.length > 1; i++) {
    const rest = [...items.slice(0, i), ...items.slice(i + 1)];
    for (const others of permutations(rest)) yield [items[i] as T, ...others];
  }
}
