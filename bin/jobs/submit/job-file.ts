import { readFile, stat } from 'node:fs/promises';
import { dirname, extname } from 'node:path';
import type { Readable } from 'node:stream';
import { suggestPaths } from '../../../actors/shared/suggest-paths.ts';
import { compose, members, RawJson } from '../../../machines/json/raw.ts';
import { YamlError, yamlToJson } from '../../../machines/json/yaml.ts';
import { withLines } from '../../../machines/json/yaml-lines.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import { JobSpec } from '../../../machines/schema/job.ts';
import { type ValidationIssue, validator } from '../../../machines/schema/validate.ts';
import { admitJob, sizeOf, unknownMembers } from '../../../machines/submission/submission.ts';
import { CliError, EXIT, usageError } from '../../cli/exit.ts';
import { issueLines } from '../../cli/explain.ts';
import { localError } from '../../cli/local-error.ts';
import { findJsonError } from './json-error.ts';

/** A server takes 16 MiB by default; beyond this no server is asked. */
const MAX_BYTES = 256 * 1024 * 1024;
/** Characters of a text in which lines are looked for: a second or two. */
const MOST_PLACED = 2 * 1024 * 1024;
const checkJob = validator(JobSpec);

/** A checked job specification. */
export interface JobFile {
  /** JSON text, numbers as written. */
  text: string;
  spec: JobSpec;
  /** About members that nobody knows. */
  warnings: string[];
  /** Where the file lies; undefined for a job that is not in a file. */
  folder?: string;
}

/** Members that the command line sets above what the file says. */
export type Overrides = {
  [K in 'name' | 'note' | 'tags' | 'priority' | 'idempotency_key' | 'reuse']?: JobSpec[K] | undefined;
};

/**
 * Reads a job specification in YAML or JSON (by its extension, else by its content; `-` is stdin) and checks
 * it as the server will. Numbers stay text all the way.
 * @throws CliError that names the place of a syntax fault, or lists all faults of the specification
 */
export async function readJobFile(path: string, stdin: Readable, overrides: Overrides): Promise<JobFile> {
  const name = path === '-' ? 'standard input' : path;
  const written = await readText(path, name, stdin);
  const job = jobFromText(override(toJson(written, name), overrides), name, written);
  return path === '-' ? job : { ...job, folder: dirname(path) };
}

/**
 * Checks JSON text as the server will.
 * @param written what somebody wrote that says so
 * @throws CliError that lists all faults of the specification, with the lines on which they stand in what was written
 */
export function jobFromText(text: string, name: string, written?: string): JobFile {
  const placed = (faults: ValidationIssue[]) =>
    written === undefined || written.length > MOST_PLACED ? faults : withLines(written, faults);
  const checked = checkJob(JSON.parse(text));
  if (!checked.ok) throw invalid(name, placed(checked.faults));
  try {
    // Whether Python jobs are allowed is the server's to say.
    admitJob(sizeOf(checked.value), { allowPythonJobs: true });
  } catch (error) {
    throw error instanceof ClusterError ? invalid(name, placed(error.faults ?? [])) : error;
  }
  return { text, spec: checked.value, warnings: unknownMembers(checked.value) };
}

const invalid = (name: string, faults: ValidationIssue[]) =>
  new CliError(EXIT.usage, `${name} is not a valid job`, { details: issueLines(faults) });

async function readText(path: string, name: string, stdin: Readable): Promise<string> {
  const bytes = path === '-' ? await collect(stdin) : await readBytes(path);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw usageError(`${name} is not UTF-8 text`, 'a job file is YAML or JSON');
  }
  if (text.trim() === '') throw usageError(`${name} is empty`, 'a job file is YAML or JSON');
  return text;
}

async function readBytes(path: string): Promise<Buffer> {
  try {
    const found = await stat(path);
    if (found.isDirectory()) {
      throw usageError(`${path} is a directory`, 'name the job file in it, YAML or JSON');
    }
    if (found.size > MAX_BYTES) throw tooLarge(path);
    return await readFile(path);
  } catch (error) {
    if (error instanceof CliError) throw error;
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT')
      throw usageError(
        `there is no file ${path}${await suggestPaths(path)}`,
        'is the path right, from here?',
      );
    throw usageError(`cannot read ${localError(error) ?? path}`);
  }
}

async function collect(stdin: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stdin) {
    const piece = Buffer.from(chunk);
    size += piece.length;
    if (size > MAX_BYTES) throw tooLarge('standard input');
    chunks.push(piece);
  }
  return Buffer.concat(chunks);
}

const tooLarge = (name: string) => usageError(`${name} is larger than any job file (256 MiB)`);

function toJson(text: string, name: string): string {
  const extension = extname(name).toLowerCase();
  if (extension === '.yaml' || extension === '.yml') return fromYaml(text, name);
  try {
    JSON.parse(text);
    return text;
  } catch {
    const fault = (): CliError => {
      const { line, column, message } = findJsonError(text) ?? {
        line: 1,
        column: 1,
        message: 'cannot be read',
      };
      return usageError(`${name}: line ${line}, column ${column}: ${message}`, 'the file is read as JSON');
    };
    if (extension === '.json') throw fault();
    // YAML may begin like JSON, as a flow mapping; what looks like JSON gets JSON's message.
    try {
      return fromYaml(text, name);
    } catch (yaml) {
      throw /^\s*[{[]/.test(text) ? fault() : yaml;
    }
  }
}

function fromYaml(text: string, name: string): string {
  try {
    return yamlToJson(text);
  } catch (error) {
    if (error instanceof YamlError) throw usageError(`${name}: ${error.message}`, 'the file is read as YAML');
    if (error instanceof RangeError) throw usageError(`${name} is nested too deeply`);
    throw error;
  }
}

function override(text: string, overrides: Overrides): string {
  const given = Object.entries(overrides).filter(([, value]) => value !== undefined);
  if (given.length === 0 || !text.trimStart().startsWith('{')) return text;
  const all = new Map<string, unknown>();
  for (const [key, value] of members(text)) all.set(key, new RawJson(value));
  for (const [key, value] of given) all.set(key, value);
  return compose(Object.fromEntries(all));
}
