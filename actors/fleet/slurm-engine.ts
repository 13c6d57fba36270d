import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { Template } from '../../machines/fleet/file.ts';
import type { Allocation } from '../../machines/fleet/plan.ts';
import { type Asked, type Engine, EngineError, type Look } from './engine.ts';
import { lastLine } from './last-line.ts';
import { folderOf, type WorkerStart, workerArguments, workerName } from './worker-command.ts';

/** For a command of Slurm whose controller does not answer. */
const TIMEOUT_MS = 60_000;
const MOST_OUTPUT = 64 * 1024 * 1024;

/** Fields of `squeue`, none of which holds the sign between them; times are seconds since the epoch. */
const FIELDS = '%F|%K|%T|%e|%r|%j';
const ENVIRONMENT = { SLURM_TIME_FORMAT: '%s' };

/** States of jobs that have ended as no worker should. */
const FAILED = new Set(['FAILED', 'BOOT_FAIL', 'OUT_OF_MEMORY']);
/** By themselves, by somebody's wish, by their time, or with their machine. */
const ENDED_WELL = ['COMPLETED', 'CANCELLED', 'TIMEOUT', 'PREEMPTED', 'NODE_FAIL', 'DEADLINE', 'REVOKED'];
const ENDED = new Set([...FAILED, ...ENDED_WELL]);

/** A job, or an element of an array, as `squeue` shows it. */
interface Row {
  id: string;
  place: number;
  template: string;
  status: string;
  ends_at: number | null;
  reason: string | null;
}

/** Workers as elements of job arrays of Slurm, which are found by the names of their jobs. */
export class SlurmEngine implements Engine {
  readonly #start: WorkerStart;
  /** Jobs that are known to have ended; null before the first look, when nobody knows what is new. */
  #ended: ReadonlySet<string> | null = null;
  /** Places that were asked for since the last look. */
  readonly #asked = new Map<Template, readonly number[]>();

  constructor(start: WorkerStart) {
    this.#start = start;
  }

  async look(templates: readonly Template[]): Promise<Look> {
    const { name } = this.#start.fleet;
    const byJob = new Map(templates.map((template) => [jobName(name, template.name), template]));
    const text = await slurm('squeue', [
      ...['--me', '--array', '--noheader', '--states=all', `--format=${FIELDS}`],
      `--name=${[...byJob.keys()].join(',')}`,
    ]);
    const rows = text.split('\n').flatMap((line) => rowOf(line, byJob) ?? []);
    const before = this.#ended;
    const ended = rows.filter(({ status }) => ENDED.has(status));
    this.#ended = new Set(ended.map(({ id }) => id));
    const failed =
      before === null ? [] : ended.filter((row) => FAILED.has(row.status) && !before.has(row.id));
    return {
      allocations: rows.filter(({ status }) => !ENDED.has(status)).map(allocationOf),
      failures: [...this.#unseenIn(rows), ...(await Promise.all(failed.map((row) => this.#failureOf(row))))],
    };
  }

  /** What Slurm took and does not show would be asked for again and again. */
  #unseenIn(rows: readonly Row[]): Look['failures'] {
    const asked = [...this.#asked];
    this.#asked.clear();
    const isSeen = (template: string, places: readonly number[]) =>
      rows.some((row) => row.template === template && places.includes(row.place));
    return asked
      .filter(([{ name }, places]) => !isSeen(name, places))
      .map(([{ name }, places]) => ({
        template: name,
        why: `sbatch took ${places.length} job(s) called ${jobName(this.#start.fleet.name, name)}, and squeue shows none: does something rename or hide them?`,
      }));
  }

  async ask(template: Template, { places, permanent }: Asked): Promise<void> {
    const kinds = [
      { places: places.slice(0, permanent), isPermanent: true },
      { places: places.slice(permanent), isPermanent: false },
    ];
    for (const { places: some, isPermanent } of kinds)
      if (some.length > 0) await this.#submit(template, some, isPermanent);
    this.#asked.set(template, places);
  }

  async withdraw(allocations: readonly Allocation[]): Promise<void> {
    if (allocations.length > 0)
      await slurm('scancel', ['--state=PENDING', ...allocations.map(({ id }) => id)]);
  }

  async drain(allocations: readonly Allocation[]): Promise<void> {
    if (allocations.length > 0)
      await slurm('scancel', ['--signal=QUIT', '--batch', ...allocations.map(({ id }) => id)]);
  }

  async #submit(template: Template, places: readonly number[], isPermanent: boolean): Promise<void> {
    const { fleet } = this.#start;
    const { slots, memory_gb, gpus, walltime, slurm: wishes } = template;
    const folder = resolve(folderOf(fleet, template));
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const options = [
      ...['--parsable', `--job-name=${jobName(fleet.name, template.name)}`, `--array=${places.join(',')}`],
      ...['--nodes=1', '--ntasks=1', `--cpus-per-task=${slots}`, '--no-requeue'],
      ...[`--mem=${Math.ceil((memory_gb ?? 0) * 1024)}M`, `--time=${minutes(walltime ?? 0)}`],
      ...(gpus > 0 ? [`--gres=gpu:${gpus}`] : []),
      ...[`--output=${folder}/%a.log`, '--open-mode=truncate'],
      ...(wishes.partition === undefined ? [] : [`--partition=${wishes.partition}`]),
      ...(wishes.account === undefined ? [] : [`--account=${wishes.account}`]),
      ...(wishes.options ?? []),
    ];
    await slurm('sbatch', options, this.#script(template, folder, isPermanent));
  }

  /** The worker takes the place of the shell, so that it hears what Slurm tells the job. */
  #script(template: Template, folder: string, isPermanent: boolean): string {
    const { fleet, command } = this.#start;
    const name = workerName(fleet.name, template.name, '');
    const words = [...command, ...workerArguments(this.#start, template, isPermanent)].map(quoted);
    const place = '"$SLURM_ARRAY_TASK_ID"';
    return [
      '#!/bin/sh',
      ...(template.slurm.setup === undefined ? [] : [template.slurm.setup]),
      `exec ${words.join(' ')} --name ${quoted(name)}${place} --state ${quoted(`${folder}/`)}${place}`,
      '',
    ].join('\n');
  }

  async #failureOf({ id, place, template, status, reason }: Row): Promise<Look['failures'][number]> {
    const log = join(this.#start.fleet.state, template, `${place}.log`);
    const why = [`job ${id} of Slurm ended as ${status}`, (await lastLine(log)) ?? reason]
      .filter(Boolean)
      .join(': ');
    return { template, why };
  }
}

const jobName = (fleet: string, template: string): string => `jq.${workerName(fleet, template, '')}`;

/** As `sbatch --time` takes it, which counts in minutes. */
const minutes = (seconds: number): number => Math.max(1, Math.ceil(seconds / 60));

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;

function rowOf(line: string, byJob: ReadonlyMap<string, Template>): Row | null {
  const [job = '', place = '', status = '', end = '', reason = '', name = ''] = line.split('|');
  const template = byJob.get(name)?.name;
  if (template === undefined || !/^\d+$/.test(place)) return null;
  const ends_at = /^\d+$/.test(end) ? Number(end) : null;
  const told = reason === 'None' || reason === '' ? null : reason;
  return { id: `${job}_${place}`, place: Number(place), template, status, ends_at, reason: told };
}

function allocationOf({ id, place, template, status, ends_at, reason }: Row): Allocation {
  const isWaiting = status === 'PENDING' || status.startsWith('REQUEUE');
  // The end that is foreseen of one that waits is a guess.
  return isWaiting
    ? { id, place, template, state: 'waiting', reason, ends_at: null }
    : { id, place, template, state: 'running', reason: null, ends_at };
}

/** @throws EngineError in Slurm's words */
function slurm(program: string, flags: readonly string[], input?: string): Promise<string> {
  const env = { ...process.env, ...ENVIRONMENT };
  return new Promise((resolve, reject) => {
    const child = execFile(
      program,
      [...flags],
      { env, timeout: TIMEOUT_MS, maxBuffer: MOST_OUTPUT },
      (error, stdout, stderr) => {
        if (error) reject(new EngineError(`${program}: ${wordsOf(stderr) || error.message}`));
        else resolve(stdout);
      },
    );
    child.stdin?.on('error', () => {});
    child.stdin?.end(input);
  });
}

/** What a command of Slurm complained of, in one line. */
const wordsOf = (stderr: string): string =>
  stderr
    .split('\n')
    .map((line) => line.replace(/^\w+: error: /, '').trim())
    .filter(Boolean)
    .join('; ');
