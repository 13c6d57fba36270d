import type { Act } from './acts.ts';
import { expire, perform, settle } from './reference.ts';
import { endJob } from './rules.ts';
import type { World } from './world.ts';

/**
 * All worlds in which requests that were under way at once were served in some order, in some turns; the likeliest
 * first. Who waits is answered at the end of a turn.
 */
export function* outcomes(world: World, acts: readonly Act[]): Generator<World> {
  // A job whose tasks are told slice by slice may be cancelled once more before it ends.
  const cancels = acts.flatMap((act) => (act.act === 'cancel' ? [act.job] : []));
  yield* outcomesOf({ ...world, inSlices: false }, acts);
  if (cancels.length > 0) yield* outcomesOf(world, acts);
  if (new Set(cancels).size < cancels.length)
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
      if (copy.endsLate) {
        for (const job of Object.values(copy.jobs)) endJob(copy, job);
        settle(copy);
      }
      expire(copy);
      yield { ...copy, inSlices: true, endsLate: false };
    }
  }
}

export function* permutations<T>(items: readonly T[]): Generator<T[]> {
  if (items.length <= 1) yield [...items];
  for (let i = 0; i < items.length && items.length > 1; i++) {
    const rest = [...items.slice(0, i), ...items.slice(i + 1)];
    for (const others of permutations(rest)) yield [items[i] as T, ...others];
  }
}
