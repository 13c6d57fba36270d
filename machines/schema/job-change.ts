import { type Static, Type } from 'typebox';
import { Nullable } from './common.ts';
import { Keep } from './job.ts';

/** What may be changed of a job; what is left out stays as it is. */
export const JobChange = Type.Object({
  keep: Type.Optional(Nullable(Keep)),
});
export type JobChange = Static<typeof JobChange>;
