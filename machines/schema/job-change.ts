import { type Static, Type } from 'typebox';
import { Name, Nullable } from './common.ts';
import { Keep, Note, Priority, Tags } from './job.ts';

/** What may be changed of a job; what is left out stays as it is, and null takes back. */
export const JobChange = Type.Object({
  name: Type.Optional(Nullable(Name)),
  note: Type.Optional(Nullable(Note)),
  tags: Type.Optional(Nullable(Type.Unsafe<string[]>({ ...Tags, description: 'all of them' }))),
  priority: Type.Optional(Priority),
  keep: Type.Optional(Nullable(Keep)),
});
export type JobChange = Static<typeof JobChange>;
