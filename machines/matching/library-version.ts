import { onlyVersion, sameVersionText } from './pep440.ts';

/** Declared by a worker where nobody knows the version; meets the constraint "present", and no other. */
export const NO_VERSION = 'unknown';

/** The same text for the same version of a library; null where it is not known. */
export function knownVersion(text: unknown): string | null {
  if (typeof text !== 'string' || text.trim() === '' || text === NO_VERSION) return null;
  return sameVersionText(text.trim());
}

/**
 * The version of a library that a task would meet: the one that all workers declare that may run it, else the one that
 * its constraint names and no other; null where neither says one.
 */
export function versionMet(declared: Iterable<string | undefined>, constraint: string): string | null {
  const versions = new Set([...declared].map(knownVersion));
  const [only = null] = versions;
  return versions.size === 1 ? only : knownVersion(onlyVersion(constraint));
}
