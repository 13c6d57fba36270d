import { libraryOf } from '../schema/job-types.ts';

/** The version of the library of a job that a result says it was computed with; null where it says none. */
export function libraryVersionOf(
  type: string,
  result: Readonly<Record<string, unknown>> | null,
): string | null {
  const version = result?.[`${libraryOf(type)}_version`];
  return typeof version === 'string' ? version : null;
}
