import { createHash } from 'node:crypto';
import type { WorkerProfile } from '../../../machines/matching/matching.ts';

/** The same for all who declared the same, and short. */
export function kindOf({ labels, capabilities, version }: WorkerProfile): string {
  const sorted = (map: object = {}) => Object.entries(map).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const text = JSON.stringify([
    sorted(labels),
    sorted(capabilities),
    version.python ?? null,
    sorted(version.packages),
  ]);
  return text.length <= 64 ? text : createHash('sha256').update(text).digest('base64');
}
