import { createHash } from 'node:crypto';
import type { WorkerProfile } from '../../../machines/matching/matching.ts';

/** A registration is known by its `version` object. */
const kinds = new WeakMap<WorkerProfile['version'], string>();

/** What a worker declared, as a short text that is the same for all who declared the same. */
export function kindOf(profile: WorkerProfile): string {
  const known = kinds.get(profile.version);
  if (known !== undefined) return known;
  const kind = describe(profile);
  kinds.set(profile.version, kind);
  return kind;
}

/** Its end is each worker's own. */
function describe({ labels, capabilities: { ends_at: _, ...capabilities }, version }: WorkerProfile): string {
  const sorted = (map: object = {}) => Object.entries(map).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const text = JSON.stringify([
    sorted(labels),
    sorted(capabilities),
    version.python ?? null,
    sorted(version.packages),
  ]);
  return text.length <= 64 ? text : createHash('sha256').update(text).digest('base64');
}
