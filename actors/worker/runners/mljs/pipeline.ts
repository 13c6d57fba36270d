import { basename, extname } from 'node:path';
import { parse as parseYaml } from 'yaml';
import { InputError } from '../../errors.ts';
import { didYouMean } from './did-you-mean.ts';
import { readText } from './files.ts';
import type { Split } from './folds.ts';
import { isMapping, readOptions, show } from './options.ts';
import type { PreprocessStep } from './preprocess.ts';
import { type ParsedStep, STEPS } from './steps.ts';

/** A checked pipeline: preprocessing, then PLS with one or more component counts. */
export interface Pipeline {
  /** File name, used as prefix of messages. */
  source: string;
  preprocess: PreprocessStep[];
  /** Component counts to evaluate, ascending and without repetition. */
  components: number[];
  /** The cross_validation step, or null if the pipeline has none. */
  split: Split | null;
}

const STEP_NAMES = Object.keys(STEPS);

/**
 * Reads a pipeline file: `.json` as JSON, anything else as YAML.
 *
 * @throws InputError in one line that names the file and the step
 */
export function readPipeline(path: string): Pipeline {
  return parsePipeline(readContent(path), basename(path));
}

/** What a pipeline file holds, as it is written there. */
export function readContent(path: string): unknown {
  const text = readText(path, 'pipeline file');
  const source = basename(path);
  if (text.trim() === '') throw new InputError(`${source}: the file is empty`);
  try {
    return extname(path).toLowerCase() === '.json' ? JSON.parse(text) : parseYaml(text);
  } catch (error) {
    const reason = String((error as Error).message)
      .split('\n')[0]
      ?.replace(/:$/, '');
    throw new InputError(`${source}: cannot be parsed: ${reason}`);
  }
}

/**
 * Checks a pipeline: a list of steps, or a mapping with the list under `steps` or `pipeline`.
 *
 * @param source prefix of messages
 * @throws InputError in one line that names the source and the step
 */
export function parsePipeline(content: unknown, source: string): Pipeline {
  const entries = stepList(content, source);
  const pipeline: Pipeline = { source, preprocess: [], components: [], split: null };
  entries.forEach((entry, i) => {
    const { name, options } = splitEntry(entry, `${source}: step ${i + 1}`);
    const where = `${source}: step ${i + 1} (${name})`;
    add(pipeline, (STEPS[name] as (typeof STEPS)[string])(where, options), where);
  });
  if (pipeline.components.length === 0) throw new InputError(`${source}: the pipeline has no pls step`);
  return pipeline;
}

export function stepList(content: unknown, source: string): unknown[] {
  let steps = content;
  if (isMapping(content)) {
    const known = ['steps', 'pipeline', 'name', 'description'];
    const { steps: bySteps, pipeline: byPipeline } = readOptions(source, content, known);
    if (bySteps !== undefined && byPipeline !== undefined) {
      throw new InputError(`${source}: write the steps under "steps" or under "pipeline", not both`);
    }
    steps = bySteps ?? byPipeline;
  }
  if (!Array.isArray(steps)) throw new InputError(`${source}: no list of steps found, got ${show(steps)}`);
  if (steps.length === 0) throw new InputError(`${source}: the list of steps is empty`);
  return steps;
}

function splitEntry(entry: unknown, where: string): { name: string; options: unknown } {
  if (typeof entry !== 'string' && !isMapping(entry)) {
    throw new InputError(`${where}: expected a step name or a mapping with one step, got ${show(entry)}`);
  }
  const [name, ...others] = typeof entry === 'string' ? [entry] : Object.keys(entry);
  if (name === undefined || others.length > 0) {
    throw new InputError(`${where}: one step per list entry, got ${show(entry)}`);
  }
  if (!STEP_NAMES.includes(name)) {
    const hint = didYouMean(name, STEP_NAMES);
    throw new InputError(`${where}: unknown step "${name}"${hint}; steps are ${STEP_NAMES.join(', ')}`);
  }
  return { name, options: typeof entry === 'string' ? undefined : entry[name] };
}

function add(pipeline: Pipeline, parsed: ParsedStep, where: string): void {
  if (parsed.role === 'preprocess') {
    if (pipeline.components.length > 0) throw new InputError(`${where}: preprocessing must come before pls`);
    pipeline.preprocess.push(parsed.step);
  } else if (parsed.role === 'regression') {
    if (pipeline.components.length > 0) {
      throw new InputError(`${where}: only one pls step; list several component counts in it`);
    }
    pipeline.components = parsed.components;
  } else {
    if (pipeline.split) throw new InputError(`${where}: only one cross_validation step is possible`);
    pipeline.split = parsed.split;
  }
}
