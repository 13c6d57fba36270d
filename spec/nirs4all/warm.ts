import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { MARK } from '../../actors/agent/child/family.ts';
import { runGroup } from '../../actors/agent/child/group.ts';
import { Guard } from '../../actors/agent/child/guard.ts';
import type { Runner } from '../../actors/agent/config.ts';
import { childEnvironment } from '../../actors/agent/environment.ts';
import { WarmRunner } from '../../actors/agent/warm/warm-runner.ts';
import { silent } from '../agent/quick.ts';

/** Runners that are kept warm, each by its command. */
export class WarmRunners {
  readonly #guard = new Guard(silent);
  readonly #state: string;
  readonly #runners = new Map<string, WarmRunner>();
  /** Attempts that started cold all the same, and why. */
  readonly cold: string[] = [];
  forked = 0;

  constructor(state: string) {
    this.#state = state;
  }

  /** Runs a task as the worker does. */
  async run(runner: Runner, args: readonly string[], folder: string) {
    const { command } = runner;
    const key = command.join(' ');
    const warm =
      this.#runners.get(key) ??
      new WarmRunner({ runner, state: this.#state, guard: this.#guard, log: silent });
    this.#runners.set(key, warm);
    const at = (name: string) => join(folder, name);
    const mark = this.#guard.newMark();
    const { signal } = new AbortController();
    const told = { stdout: '', stderr: '' };
    // Apart from what the task leaves.
    const aside = join(this.#state, mark);
    mkdirSync(aside);
    const fork = async () => {
      const pipes = { stdout: join(aside, 'stdout'), stderr: join(aside, 'stderr') };
      const learn = join(aside, 'learned.json');
      const order = { args, cwd: at('workspace'), env: { [MARK]: mark }, ...pipes, cell: null, learn };
      const answer = await warm.fork(order, signal);
      if ('cold' in answer) this.cold.push(answer.cold);
      else this.forked++;
      return 'leader' in answer ? answer.leader : null;
    };
    const end = await runGroup({
      ...{ command: command[0] as string, args: [...command.slice(1), ...args], cwd: at('workspace') },
      ...{ env: childEnvironment(), mark, graceMs: 1_000, signal, fork, onSpawn: () => {} },
      stdout: (stream) => stream.on('data', (chunk) => (told.stdout += chunk)),
      stderr: (stream) => stream.on('data', (chunk) => (told.stderr += chunk)),
    });
    await warm.learn(this.#state, join(aside, 'learned.json'));
    return { code: end.code, ...told };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#runners.values()].map((warm) => warm.close()));
    this.#guard.stop();
  }
}
