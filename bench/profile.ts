import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FILE = fileURLToPath(new URL('profiles.json', import.meta.url));
const ROOT = fileURLToPath(new URL('../', import.meta.url));
const PLACES = 12;
const FUNCTIONS = 15;
/** What is not the program's work: waiting, and what V8 does not attribute. */
const NOT_WORK = ['(idle)', '(root)'];

/** Where a server works only once it answers requests. */
const FIRST_ANSWER = '/gateway/http/request/exchange.ts';

/** The part of a V8 CPU profile that is read here. */
interface CpuProfile {
  nodes: { id: number; callFrame: { functionName: string; url: string } }[];
  samples: number[];
  /** Microseconds before each sample. */
  timeDeltas: number[];
}

/** Where the processor time of a server went, as shares of its working time. */
export interface Profile {
  measured: string;
  /** Seconds in which the main thread worked. */
  seconds: number;
  places: [name: string, share: number][];
  functions: [name: string, share: number][];
}

/** By workload. */
export type Profiles = Record<string, Profile>;

export const loadProfiles = (): Profiles =>
  existsSync(FILE) ? (JSON.parse(readFileSync(FILE, 'utf8')) as Profiles) : {};

export const saveProfiles = (profiles: Profiles): void =>
  writeFileSync(FILE, `${JSON.stringify(profiles, null, 2)}\n`);

/** The CPU profiles in a directory. */
export const profilesIn = (directory: string): string[] =>
  existsSync(directory) ? readdirSync(directory).filter((name) => name.endsWith('.cpuprofile')) : [];

/** The busiest of some profiles: a server writes one for each of its threads. */
export function summarize(directory: string, names: readonly string[], measured: string): Profile | null {
  const summaries = names.map((name) => summaryOf(join(directory, name), measured));
  summaries.sort((a, b) => b.seconds - a.seconds);
  return summaries[0] ?? null;
}

function summaryOf(path: string, measured: string): Profile {
  const profile = JSON.parse(readFileSync(path, 'utf8')) as CpuProfile;
  const frames = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
  const places = new Map<string, number>();
  const functions = new Map<string, number>();
  let total = 0;
  // What it took to start is no part of a task.
  const first = profile.samples.findIndex((id) => frames.get(id)?.url.endsWith(FIRST_ANSWER));
  for (const [i, id] of profile.samples.entries()) {
    const frame = frames.get(id);
    if (i < first || !frame || NOT_WORK.includes(frame.functionName)) continue;
    const took = profile.timeDeltas[i] ?? 0;
    total += took;
    const place = placeOf(frame.functionName, frame.url);
    add(places, place, took);
    add(functions, `${frame.functionName || '(anonymous)'} [${place}]`, took);
  }
  return {
    measured,
    seconds: total / 1e6,
    places: largest(places, total, PLACES),
    functions: largest(functions, total, FUNCTIONS),
  };
}

const add = (sums: Map<string, number>, name: string, took: number): void => {
  sums.set(name, (sums.get(name) ?? 0) + took);
};

function largest(sums: Map<string, number>, total: number, count: number): [string, number][] {
  return [...sums]
    .sort(([, a], [, b]) => b - a)
    .slice(0, count)
    .map(([name, took]) => [name, took / total]);
}

/** A file of ours, a package, Node.js itself, or the machine below. */
function placeOf(name: string, url: string): string {
  const [, inPackage] = /^.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
  if (inPackage) return inPackage;
  if (url.startsWith('node:')) return 'node';
  if (url.startsWith('file://')) return url.slice('file://'.length).replace(ROOT, '').replace(/\?.*$/, '');
  return name.startsWith('(') ? name : 'native';
}
