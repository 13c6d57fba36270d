import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { TAG_VARIABLE } from '../../actors/worker/child/process-tree.ts';
import { Reaper } from '../../actors/worker/child/reaper.ts';
import { runGroup } from '../../actors/worker/child/run-group.ts';
import type { Runner } from '../../actors/worker/config.ts';
import { childEnvironment } from '../../actors/worker/environment.ts';
import { WarmRunner } from '../../actors/worker/warm/warm-runner.ts';
import { silent } from '../worker/quick.ts';

/** Runners that are kept warm, each by its command. */
export class WarmRunners {
  readonly #guard = new Reaper(silent);
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
      new WarmRunner({ runner, state: this.#state, reaper: this.#guard, log: silent });
    this.#runners.set(key, warm);
    const at = (name: string) => join(folder, name);
    const mark = this.#guard.newTag();
    const { signal } = new AbortController();
    const told = { stdout: '', stderr: '' };
    // Apart from what the task leaves.
    const aside = join(this.#state, mark);
    mkdirSync(aside);
    const fork = async () => {
      const pipes = { stdout: join(aside, 'stdout'), stderr: join(aside, 'stderr') };
      const learn = join(aside, 'learned.json');
      const order = {
        args,
        cwd: at('workspace'),
        env: { [TAG_VARIABLE]: mark },
        ...pipes,
        cell: null,
        learn,
      };
      const answer = await warm.fork(order, signal);
      if ('cold' in answer) this.cold.push(answer.cold);
      else this.forked++;
      return 'leader' in answer ? answer.leader : null;
    };
    const end = await runGroup({
      ...{ command: command[0] as string, args: [...command.slice(1), ...args], cwd: at('workspace') },
      ...{ env: childEnvironment(), tag: mark, graceMs: 1_000, signal, fork, onSpawn: () => {} },
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
