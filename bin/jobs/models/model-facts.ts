import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { AboutModel } from '../../../actors/worker/runners/about-model.ts';

/** What a file says of the model that is in it; members that it does not say are null or left out. */
export type ModelFacts = Partial<AboutModel> & Pick<AboutModel, 'library'>;

const Text = Type.Union([Type.String(), Type.Null()]);
const Count = Type.Union([Type.Integer(), Type.Null()]);
const orNull = <S extends Parameters<typeof Type.Union>[0][number]>(schema: S) =>
  Type.Union([schema, Type.Null()]);

/** By member, what it has to be like. */
const MEMBERS = Object.entries({
  version: Text,
  model: Text,
  preprocessing: orNull(Type.Array(Type.String())),
  axis: orNull(Type.Object({ values: Type.Array(Type.Number(), { minItems: 1 }), unit: Text })),
  columns: Count,
  targets: Type.Array(Type.Object({ name: Text, unit: Text })),
  task_type: Text,
  training: Type.Object({ samples: Count, sha256: Text }),
  task: orNull(Type.Object({ job_id: Type.String(), task_id: Type.String(), attempt: Type.Integer() })),
  metrics: Type.Record(Type.String(), Type.Union([Type.Number(), Type.Null()])),
} satisfies Record<keyof Omit<AboutModel, 'library'>, unknown>).map(
  ([name, schema]) => [name, Compile(schema)] as const,
);

/** What a file says, whoever wrote it: a member of another shape is one that it does not say. Null without a library. */
export function factsIn(about: Record<string, unknown> | null): ModelFacts | null {
  if (typeof about?.library !== 'string') return null;
  const fitting = MEMBERS.filter(([name, check]) => check.Check(about[name]));
  return { library: about.library, ...Object.fromEntries(fitting.map(([name]) => [name, about[name]])) };
}
