import { isConstraint } from '../matching/pep440.ts';
import { LIMITS } from '../protocol/limits.ts';
import { DEFAULT_TYPE, isPrediction } from './job-types.ts';
import { MAX_SELECTIONS } from './select-limits.ts';
import { insteadOf, type ValidationIssue } from './validate.ts';

type Members = Record<string, unknown>;
/** What says what runs on what. */
const MEMBERS = ['pipeline', 'pipelines', 'model', 'dataset', 'datasets'];
/** What a job that predicts has no use for. */
const OF_RUNS = ['pipeline', 'pipelines', 'select', 'decompose'];

/**
 * What the schema of a job specification cannot say: rules between members, and the grammar of version
 * constraints. The value need not be valid otherwise, so that a person hears of all faults at once.
 */
export function jobRules(spec: Members): ValidationIssue[] {
  return [
    ...sourceFaults(spec),
    ...exactlyOne(spec, 'dataset', 'datasets'),
    ...datasetFaults(spec),
    ...constraintFaults(spec),
    ...selectionFaults(spec),
  ];
}

/** A job runs pipelines, or predicts with a model. */
function sourceFaults(spec: Members): ValidationIssue[] {
  const type = spec.type ?? DEFAULT_TYPE;
  if (typeof type === 'string' && isPrediction(type)) {
    const faults = OF_RUNS.filter((name) => spec[name] !== undefined).map((name) => ({
      path: `/${name}`,
      message: `a job of type ${type} predicts with a model and runs no pipelines; leave it out`,
    }));
    if (spec.model !== undefined) return faults;
    const written = insteadOf(['model'], spec, MEMBERS);
    return [...faults, { path: '/model', message: `is required, since the job predicts${written}` }];
  }
  if (spec.model === undefined) return exactlyOne(spec, 'pipeline', 'pipelines');
  return [{ path: '/model', message: 'only a job that predicts has a model; its type is <lib>.predict' }];
}

function exactlyOne(spec: Members, one: string, many: string): ValidationIssue[] {
  if (spec[one] !== undefined && spec[many] !== undefined) {
    return [{ path: `/${many}`, message: `give either '${one}' or '${many}', not both` }];
  }
  if (spec[one] === undefined && spec[many] === undefined) {
    const written = insteadOf([one, many], spec, MEMBERS);
    return [{ path: `/${one}`, message: `is required (or '${many}' for several)${written}` }];
  }
  return [];
}

function datasetFaults({ dataset, datasets }: Members): ValidationIssue[] {
  const places = [
    { ref: dataset, path: '/dataset' },
    ...(Array.isArray(datasets) ? datasets : []).map((ref, i) => ({ ref, path: `/datasets/${i}` })),
  ];
  return places
    .filter(({ ref }) => isObject(ref) && ref.kind === 'worker_local' && !('path' in ref) && !('name' in ref))
    .map(({ ref, path }) => ({
      path,
      message: `a worker_local dataset needs 'path' or 'name'${insteadOf(['path', 'name'], ref, ['kind'])}`,
    }));
}

/** A job that selects says so in one place. */
function selectionFaults(spec: Members): ValidationIssue[] {
  const { select, decompose, pipelines, datasets, params } = spec;
  if (select === undefined && decompose === undefined) return [];
  const faults: ValidationIssue[] = [];
  for (const [name, instead] of [
    ['rank_metric', 'select.by'],
    ['rank_mode', 'select.mode'],
  ] as const) {
    if (spec[name] === undefined) continue;
    faults.push({ path: `/${name}`, message: `a job that selects ranks by ${instead}; say it there` });
  }
  if (decompose !== undefined && Array.isArray(pipelines) && pipelines.length !== 1) {
    faults.push({ path: '/pipelines', message: 'must be one pipeline that holds the variants' });
  }
  if (Array.isArray(datasets) && datasets.length > MAX_SELECTIONS) {
    const message = `a job that selects takes at most ${MAX_SELECTIONS} datasets, not ${datasets.length}`;
    faults.push({ path: '/datasets', message });
  }
  const isRefitted = !isObject(select) || select.refit !== false;
  if (isRefitted && isObject(params) && params.refit === false) {
    faults.push({
      path: '/params/refit',
      message: 'false says otherwise than select; for no refit, give select: {refit: false}',
    });
  }
  return faults;
}

function constraintFaults({ requirements }: Members): ValidationIssue[] {
  const packages = isObject(requirements) ? requirements.packages : undefined;
  if (!isObject(packages)) return [];
  const entries = Object.entries(packages);
  // That there are too many, or that one is too long, the schema says.
  if (entries.length > LIMITS.members) return [];
  return entries
    .filter(([, text]) => typeof text === 'string' && text.length <= LIMITS.value && !isConstraint(text))
    .map(([name, constraint]) => ({
      path: `/requirements/packages/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`,
      message: `'${constraint}' is not a version constraint (PEP 440, such as '>=1.2,<2')`,
    }));
}

const isObject = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
