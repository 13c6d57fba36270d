import { type Static, Type } from 'typebox';

/** What a specification would become, were it submitted. */
export const JobCheck = Type.Object({
  num_tasks: Type.Integer({ description: 'that it begins with' }),
  expands: Type.Boolean({ description: 'whether its library finds out how many more there are' }),
  warnings: Type.Array(Type.String()),
});
export type JobCheck = Static<typeof JobCheck>;
