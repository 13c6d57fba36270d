import type { Requirements } from '../schema/job.ts';
import type { WorkerVersion } from '../schema/worker.ts';
import {
  type Constraint,
  constraintOf,
  meetsConstraint,
  pointOf,
  rangeOf,
  type Version,
  versionOf,
} from './pep440.ts';
import type { Point, Range } from './ranges.ts';

/** What a worker declared at registration, as far as it decides which tasks it may run. */
export interface WorkerProfile {
  labels: Record<string, string>;
  capabilities: Record<string, unknown>;
  version: WorkerVersion;
}

/** Requirements, read once: they are held against very many workers. */
export interface Asked {
  readonly labels: readonly { key: string; value: string }[];
  readonly min_memory_gb: number | undefined;
  readonly min_gpu_count: number;
  readonly packages: readonly { name: string; text: string; constraint: Constraint }[];
  readonly capabilities: readonly string[];
}

export function asked(requirements: Requirements): Asked {
  const packages = Object.entries(requirements.packages ?? {});
  return {
    labels: Object.entries(requirements.labels ?? {}).map(([key, value]) => ({ key, value })),
    min_memory_gb: requirements.min_memory_gb,
    min_gpu_count: requirements.min_gpu_count ?? 0,
    packages: packages.map(([name, text]) => ({ name, text, constraint: constraintOf(text) })),
    capabilities: askedCapabilities(requirements),
  };
}

/** One of the things that are asked. */
interface OneAsked {
  /** As people read it. */
  readonly words: string;
  isMetBy(worker: Declared): boolean;
}

/** What is asked, one by one; `meets` asks the same in the order that is quickest. */
const oneByOne = ({ labels, min_memory_gb, min_gpu_count, packages, capabilities }: Asked): OneAsked[] =>
  [
    ...packages.map(({ name, text, constraint }) => ({
      words: `packages.${name}${text}`,
      isMetBy: (worker: Declared) => worker.hasPackage(name, constraint),
    })),
    ...labels.map(({ key, value }) => ({
      words: `labels.${key}=${value}`,
      isMetBy: (worker: Declared) => worker.hasLabel(key, value),
    })),
    {
      words: min_memory_gb === undefined ? '' : `min_memory_gb=${min_memory_gb}`,
      isMetBy: (worker: Declared) => worker.hasMemory(min_memory_gb),
    },
    {
      words: min_gpu_count > 0 ? `min_gpu_count=${min_gpu_count}` : '',
      isMetBy: (worker: Declared) => worker.hasGpus(min_gpu_count),
    },
    ...capabilities.map((name) => ({
      words: `capabilities.${name}`,
      isMetBy: (worker: Declared) => !worker.denies(name),
    })),
  ].filter(({ words }) => words !== '');

/** What is asked, as people read it: `packages.numpy>=2, labels.site=lab-b`. */
export const inWords = (asked: Asked): string =>
  oneByOne(asked)
    .map(({ words }) => words)
    .join(', ') || 'nothing';

/** What a worker declared, read once: it is held against very many requirements. */
export class Declared {
  readonly #profile: WorkerProfile;
  readonly #memory: number | undefined;
  readonly #gpus: number;
  readonly #versions = new Map<string, Version | null>();

  constructor(profile: WorkerProfile) {
    this.#profile = profile;
    const { memory_gb, gpu_count } = profile.capabilities;
    this.#memory = typeof memory_gb === 'number' ? memory_gb : undefined;
    this.#gpus = typeof gpu_count === 'number' ? gpu_count : 0;
  }

  /** Whether it meets all of them; `unmet` says why not. */
  meets({ labels, min_memory_gb, min_gpu_count, packages, capabilities }: Asked): boolean {
    // The quickest first: of very many requirements most fall for one of them.
    if (!this.hasMemory(min_memory_gb) || !this.hasGpus(min_gpu_count)) return false;
    for (const { key, value } of labels) if (!this.hasLabel(key, value)) return false;
    for (const name of capabilities) if (this.denies(name)) return false;
    for (const { name, constraint } of packages) if (!this.hasPackage(name, constraint)) return false;
    return true;
  }

  /**
   * The requirements that it does not meet, each as people read it (`labels.site=lab-b`, `packages.numpy>=2`); empty
   * when it is eligible. Rules: docs/semantics.md#matching.
   */
  unmet(asked: Asked): string[] {
    return oneByOne(asked).flatMap((one) => (one.isMetBy(this) ? [] : [one.words]));
  }

  hasLabel(key: string, value: string): boolean {
    return this.#profile.labels[key] === value;
  }

  /** A worker that does not say how much memory it has is trusted with the task. */
  hasMemory(wanted: number | undefined): boolean {
    return wanted === undefined || this.#memory === undefined || this.#memory >= wanted;
  }

  hasGpus(wanted: number): boolean {
    return wanted <= this.#gpus;
  }

  /** Workers of other make do not know the word, and may be able all the same. */
  denies(capability: string): boolean {
    const { capabilities } = this.#profile;
    return Object.hasOwn(capabilities, capability) && capabilities[capability] === false;
  }

  hasPackage(name: string, constraint: Constraint): boolean {
    const version = this.#versionOf(name);
    return version !== null && meetsConstraint(version, constraint);
  }

  #versionOf(name: string): Version | null {
    let version = this.#versions.get(name);
    if (version === undefined) {
      version = versionIn(this.#profile.version, name);
      this.#versions.set(name, version);
    }
    return version;
  }

  /** Where it stands in what a range is asked of; null: in none of the ranges. */
  pointIn(of: string): Point | null {
    if (of === MEMORY) return [this.#memory ?? Number.POSITIVE_INFINITY];
    if (of === GPUS) return [this.#gpus];
    const version = this.#versionOf(of.slice(VERSION.length));
    return version && pointOf(version);
  }
}

/** Short for what is asked once. */
export const unmet = (requirements: Requirements, worker: WorkerProfile): string[] =>
  new Declared(worker).unmet(asked(requirements));

const askedCapabilities = ({ capabilities = {} }: Requirements): string[] =>
  Object.keys(capabilities)
    .filter((name) => capabilities[name])
    .sort();

/** Python normalises project names: case and runs of `-_.` do not matter (PEP 503). */
const normalise = (name: string) => name.toLowerCase().replace(/[-_.]+/g, '-');

/** What a worker declares of a package. */
export function declaredVersion(version: WorkerVersion, name: string): string | undefined {
  const packages = version.packages ?? {};
  if (Object.hasOwn(packages, name)) return packages[name];
  const wanted = normalise(name);
  const found = Object.entries(packages).find(([key]) => normalise(key) === wanted);
  if (found) return found[1];
  return wanted === 'python' ? version.python : undefined;
}

function versionIn(version: WorkerVersion, name: string): Version | null {
  const declared = declaredVersion(version, name);
  if (declared === undefined) return null;
  // Workers may declare builds such as "3.11.7 (main, …)" or "3.13.0+" for python: the version is the first
  // word, and the plus sign says that it was built from a branch.
  return versionOf((declared.trim().split(/\s+/)[0] ?? '').replace(/\+$/, ''));
}

/**
 * What a requirement asks that a worker either has or has not, whatever else it asks: labels, and packages in any
 * version. Whoever lacks one of them need not look at it.
 */
export function termsAsked({ labels, packages }: Asked): string[] {
  return [
    ...labels.map(({ key, value }) => labelTerm(key, value)),
    ...packages.map(({ name }) => packageTerm(name)),
  ];
}

/** A range in which a worker must stand, whatever else it asks: of a number, or of the versions of a package. */
export interface AskedRange extends Range {
  readonly of: string;
}

const MEMORY = 'memory';
const GPUS = 'gpus';
/** Followed by the package as it is named. */
const VERSION = 'version of ';

/** The ranges of which a worker must stand in each. */
export function rangesAsked({ min_memory_gb, min_gpu_count, packages }: Asked): AskedRange[] {
  const ranges: AskedRange[] = packages.map(({ name, constraint }) => ({
    of: VERSION + name,
    ...rangeOf(constraint),
  }));
  if (min_memory_gb !== undefined) ranges.push({ of: MEMORY, from: [min_memory_gb], to: null });
  ranges.push({ of: GPUS, from: min_gpu_count > 0 ? [min_gpu_count] : null, to: null });
  return ranges.filter(({ from, to }) => from !== null || to !== null);
}

/** All such terms that a worker has. */
export function termsDeclared({ labels, version }: WorkerProfile): string[] {
  return [
    ...Object.entries(labels).map(([key, value]) => labelTerm(key, value)),
    ...Object.keys(version.packages ?? {}).map(packageTerm),
    ...(version.python === undefined ? [] : [packageTerm('python')]),
  ];
}

const labelTerm = (key: string, value: string): string => JSON.stringify([key, value]);
const packageTerm = (name: string): string => `packages.${normalise(name)}`;

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
