import { meetsConstraint } from './pep440.ts';
import type { Requirements } from './schema/job.ts';
import type { WorkerVersion } from './schema/worker.ts';

/** What a worker declared at registration, as far as it decides which tasks it may run. */
export interface WorkerProfile {
  labels: Record<string, string>;
  capabilities: Record<string, unknown>;
  version: WorkerVersion;
}

/**
 * The requirements that a worker does not meet, each as people read it (`labels.site=lab-b`,
 * `packages.numpy>=2`); empty when it is eligible. Rules: contract, "Matching".
 */
export function unmet(requirements: Requirements, worker: WorkerProfile): string[] {
  const missing: string[] = [];
  for (const [key, value] of Object.entries(requirements.labels ?? {})) {
    if (worker.labels[key] !== value) missing.push(`labels.${key}=${value}`);
  }
  const memory = worker.capabilities.memory_gb;
  const wantMemory = requirements.min_memory_gb;
  // A worker that does not say how much memory it has is trusted with the task.
  if (wantMemory !== undefined && typeof memory === 'number' && memory < wantMemory) {
    missing.push(`min_memory_gb=${wantMemory}`);
  }
  const gpus = worker.capabilities.gpu_count;
  const wantGpus = requirements.min_gpu_count ?? 0;
  if (wantGpus > (typeof gpus === 'number' ? gpus : 0)) missing.push(`min_gpu_count=${wantGpus}`);
  for (const [name, constraint] of Object.entries(requirements.packages ?? {})) {
    if (!meets(declaredVersion(worker.version, name), constraint))
      missing.push(`packages.${name}${constraint}`);
  }
  for (const name of askedCapabilities(requirements)) {
    const declared = Object.hasOwn(worker.capabilities, name) ? worker.capabilities[name] : undefined;
    // Workers of other make do not know the word, and may be able all the same.
    if (declared === false) missing.push(`capabilities.${name}`);
  }
  return missing;
}

/**
 * Whether a worker meets all of them. Labels are looked at first, and nothing after the first that is not met: of very
 * many requirements most fall for a label, and versions take a hundred times longer.
 */
export function meetsAll(requirements: Requirements, worker: WorkerProfile): boolean {
  const { labels, packages, ...others } = requirements;
  for (const key in labels) if (worker.labels[key] !== labels[key]) return false;
  return unmet(others, worker).length === 0 && meetsPackages(packages ?? {}, worker.version);
}

function meetsPackages(packages: Record<string, string>, version: WorkerVersion): boolean {
  for (const name in packages) {
    if (!meets(declaredVersion(version, name), packages[name] as string)) return false;
  }
  return true;
}

const askedCapabilities = ({ capabilities = {} }: Requirements): string[] =>
  Object.keys(capabilities)
    .filter((name) => capabilities[name])
    .sort();

/** Python normalises project names: case and runs of `-_.` do not matter (PEP 503). */
const normalise = (name: string) => name.toLowerCase().replace(/[-_.]+/g, '-');

function declaredVersion(version: WorkerVersion, name: string): string | undefined {
  const packages = version.packages ?? {};
  if (Object.hasOwn(packages, name)) return packages[name];
  const wanted = normalise(name);
  const found = Object.entries(packages).find(([key]) => normalise(key) === wanted);
  if (found) return found[1];
  return wanted === 'python' ? version.python : undefined;
}

function meets(declared: string | undefined, constraint: string): boolean {
  if (declared === undefined) return false;
  // Workers may declare builds such as "3.11.7 (main, …)" or "3.13.0+" for python: the version is the first
  // word, and the plus sign says that it was built from a branch.
  const version = (declared.trim().split(/\s+/)[0] ?? '').replace(/\+$/, '');
  return meetsConstraint(version, constraint);
}

/** Requirements that are alike in meaning have the same signature; the index of queued tasks is keyed by it. */
export function signatureOf(requirements: Requirements): string {
  const sorted = (map: Record<string, string> | undefined) =>
    Object.entries(map ?? {}).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const capabilities = askedCapabilities(requirements);
  return JSON.stringify([
    sorted(requirements.labels),
    requirements.min_memory_gb ?? 0,
    requirements.min_gpu_count ?? 0,
    sorted(requirements.packages),
    // Absent where there are none, as in the signatures that stores of earlier versions hold.
    ...(capabilities.length > 0 ? [capabilities] : []),
  ]);
}

/** The worker program's own version: `cluster`, else the first key that ends in `_cluster`. */
export function clusterVersion(version: WorkerVersion): string | null {
  if (typeof version.cluster === 'string') return version.cluster;
  const found = Object.entries(version).find(
    ([key, value]) => key.endsWith('_cluster') && typeof value === 'string',
  );
  return found ? (found[1] as string) : null;
}
