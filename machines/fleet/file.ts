import { type Static, Type } from 'typebox';
import { secondsIn } from '../protocol/duration.ts';
import { didYouMean, nearest } from '../protocol/nearest.ts';
import { Labels } from '../schema/common.ts';
import { RULES, type ValidationIssue, validator } from '../schema/validate.ts';

/** Allocations of one template; arrays of Slurm are no longer by default. */
const MOST = 1_000;

/** In names of allocations and workers. */
const Word = (description: string) => Type.String({ pattern: '^[A-Za-z0-9_-]{1,40}$', description });
const Time = (description: string) => Type.Optional(Type.String({ description }));

const Slurm = Type.Object({
  partition: Type.Optional(Type.String({ minLength: 1 })),
  account: Type.Optional(Type.String({ minLength: 1 })),
  options: Type.Optional(Type.Array(Type.String(), { description: 'further options of sbatch' })),
  setup: Type.Optional(
    Type.String({ description: 'shell lines in front of the worker, such as `module load node`' }),
  ),
});

const TEMPLATE = {
  name: Word('of its allocations'),
  engine: Type.Unsafe<'local' | 'slurm'>({ type: 'string', enum: ['local', 'slurm'] }),
  min: Type.Optional(Type.Integer({ minimum: 0, maximum: MOST })),
  max: Type.Integer({ minimum: 1, maximum: MOST, description: 'allocations at the same time' }),
  slots: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
  memory_gb: Type.Optional(Type.Number({ exclusiveMinimum: 0 })),
  gpus: Type.Optional(Type.Integer({ minimum: 0 })),
  labels: Type.Optional(Labels),
  packages: Type.Optional(Type.Record(Type.String(), Type.String())),
  walltime: Time('of an allocation, such as 4h'),
  ending: Time('of that, for the end of its worker'),
  idle: Time('after which a worker ends that has nothing to do'),
  worker: Type.Optional(Type.Array(Type.String(), { description: 'further flags of jq-worker' })),
  slurm: Type.Optional(Slurm),
};
const Template = Type.Object(TEMPLATE, { [RULES]: templateFaults });

const FILE = {
  name: Word('of the fleet'),
  state: Type.Optional(Type.String({ minLength: 1 })),
  interval: Time('between two looks'),
  templates: Type.Array(Template, { minItems: 1, maxItems: 100 }),
};
const FleetFile = Type.Object(FILE, { [RULES]: fileFaults });
type Written = Static<typeof Template>;

/** By which sort of machine an allocation is had. */
export type EngineName = Written['engine'];

/** What allocations are alike in, with its defaults. Times are seconds. */
export interface Template {
  name: string;
  engine: EngineName;
  min: number;
  max: number;
  /** Of each worker. */
  slots: number;
  /** GiB; null: what the machine has. */
  memory_gb: number | null;
  gpus: number;
  labels: Record<string, string>;
  packages: Record<string, string>;
  /** Null: without an end. */
  walltime: number | null;
  ending: number;
  idle: number;
  worker: readonly string[];
  slurm: Static<typeof Slurm>;
}

/** What a fleet file says. */
export interface Fleet {
  name: string;
  /** Directory of its own. */
  state: string;
  /** Seconds. */
  interval: number;
  templates: Template[];
}

/** Of what is not given: seconds. */
const INTERVAL = 5;
const IDLE = 120;
const ENDING = 120;
/** Of a short walltime, the share that belongs to the end. */
const ENDING_SHARE = 0.1;

const check = validator(FleetFile);

/** A fleet file, or everything that is wrong with it. */
export function readFleet(document: unknown): { fleet: Fleet } | { faults: ValidationIssue[] } {
  const checked = check(document);
  if (!checked.ok) return { faults: checked.faults };
  const { name, state, interval, templates } = checked.value;
  return {
    fleet: {
      name,
      state: state ?? './fleet-state',
      interval: timeOf(interval) ?? INTERVAL,
      templates: templates.map(withDefaults),
    },
  };
}

function withDefaults(written: Written): Template {
  const walltime = timeOf(written.walltime) ?? null;
  return {
    ...{ name: written.name, engine: written.engine, min: written.min ?? 0, max: written.max },
    ...{ slots: written.slots ?? 1, memory_gb: written.memory_gb ?? null, gpus: written.gpus ?? 0 },
    ...{ labels: written.labels ?? {}, packages: written.packages ?? {}, walltime },
    ending: timeOf(written.ending) ?? Math.min(ENDING, Math.round((walltime ?? 0) * ENDING_SHARE)),
    ...{ idle: timeOf(written.idle) ?? IDLE, worker: written.worker ?? [], slurm: written.slurm ?? {} },
  };
}

const timeOf = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : (secondsIn(text) ?? undefined);

function fileFaults(file: Record<string, unknown>): ValidationIssue[] {
  const templates = Array.isArray(file.templates) ? file.templates : [];
  const names = templates.map((template) => (template as Partial<Written> | null)?.name);
  return [
    ...unknownMembers(file, FILE, ''),
    ...timeFaults(file, ['interval'], ''),
    ...templates.flatMap((template, i) => under(`/templates/${i}`, templateFaults(template))),
    ...names.flatMap((name, i) =>
      name !== undefined && names.indexOf(name) < i
        ? [{ path: `/templates/${i}/name`, message: `'${name}' is given twice` }]
        : [],
    ),
  ];
}

const under = (path: string, faults: ValidationIssue[]): ValidationIssue[] =>
  faults.map((fault) => ({ ...fault, path: path + fault.path }));

function templateFaults(template: Record<string, unknown>): ValidationIssue[] {
  if (typeof template !== 'object' || template === null) return [];
  const { engine, min, max, walltime, ending, slurm } = template;
  const faults = [
    ...unknownMembers(template, TEMPLATE, ''),
    ...timeFaults(template, ['walltime', 'ending', 'idle'], ''),
  ];
  const add = (path: string, message: string) => faults.push({ path, message });
  if (typeof min === 'number' && typeof max === 'number' && min > max) add('/min', `is above max, ${max}`);
  if (typeof slurm === 'object' && slurm !== null) {
    faults.push(...unknownMembers(slurm as Record<string, unknown>, Slurm.properties, '/slurm'));
    if (engine === 'local') add('/slurm', 'is for templates of engine slurm');
  }
  if (engine === 'slurm') {
    // Without them Slurm may give less than the tasks are promised.
    for (const needed of ['walltime', 'memory_gb'])
      if (template[needed] === undefined) add(`/${needed}`, 'is required with engine slurm');
  }
  const [whole, end] = [walltime, ending].map((text) => (typeof text === 'string' ? secondsIn(text) : null));
  if (whole && end && end >= whole) add('/ending', `leaves nothing of the walltime, ${walltime}`);
  return faults;
}

function timeFaults(of: Record<string, unknown>, names: readonly string[], path: string): ValidationIssue[] {
  return names.flatMap((name) => {
    const text = of[name];
    if (typeof text !== 'string' || secondsIn(text) !== null) return [];
    return [{ path: `${path}/${name}`, message: `'${text}' is no length of time, such as 30s, 5min or 4h` }];
  });
}

/** A member that nobody reads would be a wish that nobody hears. */
function unknownMembers(of: Record<string, unknown>, known: object, path: string): ValidationIssue[] {
  return Object.keys(of)
    .filter((name) => !Object.hasOwn(known, name))
    .map((name) => ({
      path: `${path}/${name}`,
      message: `is unknown${didYouMean(nearest(name, Object.keys(known)))}`,
    }));
}
