import type { ModelFacts } from '../jobs/models/model-facts.ts';
import { counted, metric } from './format.ts';
import type { Colours } from './output.ts';
import { plain } from './plain.ts';

/** Metrics that everybody asks for, in this order. */
const USUAL = ['best_rmse', 'best_r2', 'cv_rmse', 'cv_r2', 'best_accuracy'];

/** What a model says of itself, for people. */
export function modelReport(name: string, facts: ModelFacts, { bold, dim }: Colours): string {
  const { library, version, model, preprocessing, targets, training, task } = facts;
  const lines: [string, string | null | undefined][] = [
    ['library', `${library}${version ? ` ${version}` : ''}`],
    ['model', model],
    ['before it', preprocessing && (preprocessing.length === 0 ? 'nothing' : preprocessing.join(', then '))],
    ['spectra', spectraOf(facts)],
    ['predicts', targets?.map(({ name, unit }) => targetIn(name, unit)).join(', ')],
    ['made of', training && trainingIn(training)],
    ['data', training?.sha256 && `sha256 ${training.sha256}`],
    ['made by', task && `task ${task.task_id} of job ${task.job_id}, attempt ${task.attempt}`],
    ['metrics', metricsOf(facts)],
  ];
  const told = lines.flatMap(([what, words]) => (words ? [`  ${dim(what.padEnd(10))}${plain(words)}`] : []));
  return [bold(plain(name)), ...told].join('\n');
}

function spectraOf({ axis, columns }: ModelFacts): string | null {
  const count = columns == null ? null : counted(columns, 'column');
  if (!axis) return count && `${count}, without wavelengths`;
  const unit = axis.unit ? ` ${axis.unit}` : '';
  return `${axis.values[0]} to ${axis.values.at(-1)}${unit}, ${count ?? counted(axis.values.length, 'column')}`;
}

/** The unit once, where the name ends with it. */
function targetIn(name: string | null, unit: string | null): string {
  if (name === null) return 'a value without a name';
  return unit === null || name.includes(unit) ? name : `${name} (${unit})`;
}

const trainingIn = ({ samples }: NonNullable<ModelFacts['training']>): string | null =>
  samples === null ? null : counted(samples, 'sample');

const metricsOf = ({ metrics = {} }: ModelFacts): string =>
  USUAL.flatMap((name) =>
    typeof metrics[name] === 'number' ? [`${name} ${metric(metrics[name])}`] : [],
  ).join(', ');
