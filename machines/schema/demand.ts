import { type Static, Type } from 'typebox';
import { Nullable } from './common.ts';
import { Requirements } from './job.ts';
import { ABSENT } from './lenient.ts';

/** Queued tasks that ask the same, and what there is for them. */
export const DemandGroup = Type.Object({
  requirement: Type.String({ description: 'what they ask, in words' }),
  requirements: Requirements,
  seconds: Type.Unsafe<number | null>({
    ...Nullable(
      Type.Number({
        description:
          'that one of them may take: its `timeout_seconds`, else what tasks of its job took so far; null: nobody knows',
      }),
    ),
    [ABSENT]: null,
  }),
  slots_wanted: Type.Integer({ description: 'tasks that would be leased now if there were slots for them' }),
  tasks_held: Type.Integer({ description: 'tasks that ask the same and are leased or running' }),
  types: Type.Array(Type.String(), { description: 'of their jobs, at most ten' }),
  workers: Type.Integer({ description: 'that are given tasks, and may run these' }),
  slots_total: Type.Integer({ description: 'of those workers' }),
  slots_free: Type.Integer({ description: 'of those workers' }),
});

/** Why queued tasks are not wanted now. */
const HeldBack = Type.Object({
  paused: Type.Integer(),
  owner_limit: Type.Integer({ description: 'their owners have as many under way as they may' }),
  backoff: Type.Integer({ description: 'they wait after a failure' }),
});

/** What is wanted of workers. */
export const DemandView = Type.Object({
  groups: Type.Array(DemandGroup, { description: 'in the order in which they are served, at most 100' }),
  groups_left_out: Type.Integer({ description: 'beyond those' }),
  slots_wanted: Type.Integer({ description: 'of all groups, those that are left out as well' }),
  held_back: HeldBack,
});

export type DemandGroup = Static<typeof DemandGroup>;
export type DemandView = Static<typeof DemandView>;
