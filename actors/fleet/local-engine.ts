import { spawn } from 'node:child_process';
import { closeSync, openSync, writeFileSync } from 'node:fs';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Template } from '../../machines/fleet/file.ts';
import type { Allocation } from '../../machines/fleet/plan.ts';
import { StartError } from '../../machines/protocol/start-error.ts';
import { acquireLock } from '../shared/lock.ts';
import { system } from '../worker/child/system.ts';
import { type Asked, type Engine, EngineError, type Look } from './engine.ts';
import { lastLine } from './last-line.ts';
import { folderOf, type WorkerStart, workerArguments, workerName } from './worker-command.ts';

/** How a worker of a place is found again; in a file beside its directory. */
interface Note {
  pid: number;
  /** With the next, what tells its process from a later one of the same id. */
  started: number;
  boot: string;
  ends_at: number | null;
}

/** Workers as processes of this machine, which go on without the fleet. */
export class LocalEngine implements Engine {
  readonly #start: WorkerStart;
  /** Seconds since the epoch. */
  readonly #now: () => number;
  #failures: Look['failures'] = [];

  constructor(start: WorkerStart, now: () => number) {
    this.#start = start;
    this.#now = now;
  }

  async look(templates: readonly Template[]): Promise<Look> {
    const found = await Promise.all(templates.map((template) => this.#allocationsOf(template)));
    const failures = this.#failures;
    this.#failures = [];
    return { allocations: found.flat(), failures };
  }

  async ask(template: Template, { places, permanent }: Asked): Promise<void> {
    const folder = folderOf(this.#start.fleet, template);
    await mkdir(folder, { recursive: true, mode: 0o700 });
    for (const [i, place] of places.entries()) await this.#startAt(folder, template, place, i < permanent);
  }

  /** A process waits for nothing. */
  async withdraw(): Promise<void> {}

  async drain(allocations: readonly Allocation[]): Promise<void> {
    for (const { id } of allocations) if (Number(id) > 0) system.signal(Number(id), 'SIGQUIT');
  }

  async #startAt(folder: string, template: Template, place: number, isPermanent: boolean): Promise<void> {
    const { fleet, command } = this.#start;
    const state = join(folder, String(place));
    // A worker that this fleet has no note of, since it died at that very moment.
    if (await isInUse(state)) return;
    const log = join(folder, `${place}.log`);
    const output = openSync(log, 'w', 0o600);
    const ends_at = template.walltime === null ? null : this.#now() + template.walltime;
    try {
      const [program = '', ...first] = command;
      const child = spawn(
        program,
        [
          ...first,
          ...['--name', workerName(fleet.name, template.name, place), '--state', state],
          // Where Slurm gives an allocation, the worker asks it.
          ...(ends_at === null ? [] : ['--ends-at', String(Math.round(ends_at))]),
          ...workerArguments(this.#start, template, isPermanent),
        ],
        { detached: true, stdio: ['ignore', output, output] },
      );
      const { pid } = child;
      if (pid === undefined) throw await refusal(child);
      writeFileSync(join(folder, `${place}.json`), JSON.stringify(noteOf(pid, ends_at)), { mode: 0o600 });
      child.on('exit', (code) => void this.#ended(template, place, { code, log }));
      child.unref();
    } finally {
      closeSync(output);
    }
  }

  async #ended(template: Template, place: number, { code, log }: { code: number | null; log: string }) {
    // Whoever ended it by a signal had a reason.
    if (code === 0 || code === null) return;
    const name = workerName(this.#start.fleet.name, template.name, place);
    const said = await lastLine(log);
    const why = `${name} ended with exit code ${code}${said === null ? '' : `: ${said}`}`;
    this.#failures.push({ template: template.name, why });
  }

  async #allocationsOf(template: Template): Promise<Allocation[]> {
    const folder = folderOf(this.#start.fleet, template);
    const names = await readdir(folder).catch(() => [] as string[]);
    const notes = names.flatMap((name) => /^([1-9]\d*)\.json$/.exec(name)?.[1] ?? []);
    const found: Allocation[] = [];
    for (const place of notes.map(Number).sort((a, b) => a - b)) {
      const path = join(folder, `${place}.json`);
      const note = await readNote(path);
      if (note && isAlive(note)) {
        const { pid, ends_at } = note;
        found.push({
          ...{ template: template.name, place, id: String(pid), state: 'running', reason: null, ends_at },
        });
      } else await rm(path, { force: true });
    }
    return found;
  }
}

const noteOf = (pid: number, ends_at: number | null): Note => ({
  ...{ pid, started: system.rowOf(pid)?.started ?? 0, boot: system.boot(), ends_at },
});

async function readNote(path: string): Promise<Note | null> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Note;
  } catch {
    return null;
  }
}

function isAlive({ pid, started, boot }: Note): boolean {
  const row = system.rowOf(pid);
  return row !== undefined && !row.zombie && row.started === started && boot === system.boot();
}

async function isInUse(state: string): Promise<boolean> {
  try {
    await (await acquireLock(join(state, 'worker.lock'))).release();
    return false;
  } catch (error) {
    if (error instanceof StartError && error.code === 'state_in_use') return true;
    throw error instanceof StartError ? new EngineError(error.message) : error;
  }
}

const refusal = (child: ReturnType<typeof spawn>): Promise<EngineError> =>
  new Promise((resolve) => {
    child.once('error', (error) => resolve(new EngineError(`jq-worker cannot be started: ${error.message}`)));
  });
