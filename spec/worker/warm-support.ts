import { randomUUID } from 'node:crypto';
import { copyFile, mkdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { TAG_VARIABLE } from '../../actors/worker/child/process-tree.ts';
import { Reaper } from '../../actors/worker/child/reaper.ts';
import { type ChildEnd, runGroup } from '../../actors/worker/child/run-group.ts';
import type { Runner } from '../../actors/worker/config.ts';
import { childEnvironment } from '../../actors/worker/environment.ts';
import { askInterpreter } from '../../actors/worker/runners/nirs4all/index.ts';
import { WarmRunner } from '../../actors/worker/warm/warm-runner.ts';
import { atEnd, temporaryFolder } from './folder.ts';
import { silent } from './quick.ts';

const LOOKS = fileURLToPath(new URL('./fixtures/looks.py', import.meta.url));
const LIBRARY = fileURLToPath(new URL('../../actors/worker/runners/python/jq_warm.py', import.meta.url));

export interface Attempt extends ChildEnd {
  /** Its working directory. */
  folder: string;
  pid: number;
  stdout: string;
  stderr: string;
  /** Why it started cold; null for a fork. */
  cold: string | null;
}

/** A runner of the test's own, and what runs attempts of it. */
export class Warming {
  readonly folder: string;
  readonly runner: Runner;
  readonly guard: Reaper;
  warm: WarmRunner;
  /** Of the last attempt. */
  lastMark = '';
  #attempts = 0;

  private constructor(folder: string, runner: Runner, guard: Reaper) {
    this.folder = folder;
    this.runner = runner;
    this.guard = guard;
    this.warm = this.anew();
  }

  /** @param program what of Python runs; `looks.py` by default */
  static async start(t: TestContext, env: NodeJS.ProcessEnv = {}, program = LOOKS): Promise<Warming> {
    const folder = await temporaryFolder(t);
    const own = join(folder, 'runner', 'runner.py');
    await mkdir(dirname(own));
    await copyFile(program, own);
    // Python keeps what it has compiled, as it does for everybody who does not forbid it.
    const given = { JQ_WARM: dirname(LIBRARY), PYTHONDONTWRITEBYTECODE: '', ...env };
    const variables = Object.entries(given).map(([k, v]) => `${k}=${v}`);
    // Not by a name: what looks for the interpreter may tell it where it was started.
    const command = ['/usr/bin/env', ...variables, (await askInterpreter('python3')).executable, own];
    const guard = new Reaper(silent);
    const made = new Warming(folder, { library: 'looks', command, packages: {}, serves: true }, guard);
    atEnd(t, async () => {
      await made.warm.close();
      guard.stop();
    });
    return made;
  }

  /** The next worker program, with what this one has learned. */
  anew(deadline: { patienceMs?: number } = {}): WarmRunner {
    const { runner, guard, folder } = this;
    this.warm = new WarmRunner({ runner, state: folder, reaper: guard, log: silent, ...deadline });
    return this.warm;
  }

  /** An attempt with these words, from the host, or as it would be without one. */
  async run(
    words: readonly string[],
    { coldly = false, signal = new AbortController().signal, seen = (_: string, __: number) => {} } = {},
  ): Promise<Attempt> {
    const root = join(this.folder, `${++this.#attempts}`);
    await mkdir(join(root, 'workspace'), { recursive: true });
    const at = (name: string) => join(root, name);
    const mark = this.guard.cgroups ? this.guard.newTag() : randomUUID();
    this.lastMark = mark;
    const [command = '', ...args] = this.runner.command;
    const told = { pid: 0, stdout: '', stderr: '', cold: null as string | null };
    const fork = async () => {
      const order = {
        args: words,
        cwd: at('workspace'),
        env: { [TAG_VARIABLE]: mark },
        stdout: at('stdout'),
        stderr: at('stderr'),
        cell: this.guard.cgroups?.prepare(mark) ?? null,
        learn: at('learned.json'),
      };
      const answer = await this.warm.fork(order, signal);
      if ('leader' in answer) return answer.leader;
      told.cold = answer.cold;
      return null;
    };
    const end = await runGroup({
      ...{
        command,
        args: [...args, ...words],
        cwd: at('workspace'),
        env: childEnvironment(),
        tag: mark,
        signal,
      },
      cgroups: this.guard.cgroups,
      graceMs: 200,
      fork: coldly ? undefined : fork,
      onSpawn: (pid) => {
        told.pid = pid;
      },
      stdout: (stream) =>
        stream.on('data', (chunk) => {
          told.stdout += chunk;
          seen(told.stdout, told.pid);
        }),
      stderr: (stream) => stream.on('data', (chunk) => (told.stderr += chunk)),
    });
    await this.warm.learn(this.folder, at('learned.json'));
    return { ...end, ...told, folder: at('workspace') };
  }
}

export const said = <T>({ stdout }: Attempt): T => JSON.parse(stdout);
