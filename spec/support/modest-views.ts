import type { TSchema } from 'typebox';
import * as lease from '../../machines/schema/lease.ts';
import { NEEDED } from '../../machines/schema/lenient.ts';
import * as views from '../../machines/schema/views.ts';
import { WorkerRegistered } from '../../machines/schema/worker.ts';

/** The views that servers give, by their names. */
export const VIEWS = { ...views, ...lease, WorkerRegistered } as const;
export type ViewName =
  | 'JobView'
  | 'TaskView'
  | 'WorkerView'
  | 'EventView'
  | 'ArtifactView'
  | 'ClusterStats'
  | 'TaskPayload'
  | 'WorkerRegistered';

interface AnySchema {
  properties?: Record<string, AnySchema>;
  [NEEDED]?: readonly string[];
}

const schemaOf = (name: ViewName): AnySchema => VIEWS[name] as TSchema as AnySchema;

/** Every member that a view may lack, by its path, as its schema has them: `aggregate`, `aggregate.num_tasks`. */
export function optionalMembers(name: ViewName, schema = schemaOf(name)): string[] {
  return Object.entries(schema.properties ?? {}).flatMap(([member, inner]) => {
    const below = inner.properties ? optionalMembers(name, inner).map((path) => `${member}.${path}`) : [];
    return (schema[NEEDED] ?? []).includes(member) ? below : [member, ...below];
  });
}

/** The members that a view cannot lack. */
export const neededMembers = (name: ViewName): readonly string[] => schemaOf(name)[NEEDED] ?? [];

/** A copy of a view without some of its members. */
export function without(view: object, members: readonly string[]): object {
  const copy = structuredClone(view);
  for (const path of members) {
    const names = path.split('.');
    const last = names.pop() as string;
    const owner = names.reduce<unknown>(
      (at, name) => (at as Record<string, unknown> | undefined)?.[name],
      copy,
    );
    if (typeof owner === 'object' && owner !== null) delete (owner as Record<string, unknown>)[last];
  }
  return copy;
}
