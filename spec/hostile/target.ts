import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterClient } from '../../gateway/client/client.ts';
import { start } from '../cli/cli-support.ts';
import { TRANSPORT } from '../support/transport.ts';
import { until } from '../support/until.ts';
import type { Scope } from './scope.ts';

/** pino's number for `error`; a request that failed for a reason of the server's own is logged so. */
const ERROR = 50;

/** A real server as a process of its own, to be treated badly; it says afterwards whether it took harm. */
export class Target {
  readonly url: string;
  readonly port: number;
  readonly client: ClusterClient;
  readonly state: string;
  readonly #process: ReturnType<typeof start>;

  private constructor(parts: { url: string; state: string; process: ReturnType<typeof start> }) {
    this.url = parts.url;
    this.port = Number(new URL(parts.url).port);
    this.client = new ClusterClient({ server: parts.url });
    this.state = parts.state;
    this.#process = parts.process;
  }

  static async start(scope: Scope, flags: string[] = [], env: Record<string, string> = {}): Promise<Target> {
    const state = await mkdtemp(join(tmpdir(), 'jq-hostile-'));
    scope.after(() => rm(state, { recursive: true, force: true }));
    const told = [
      '--port',
      '0',
      '--transport',
      TRANSPORT,
      '--state',
      state,
      '--json',
      '--log-level',
      'debug',
    ];
    const process = start('jq-server', [...told, '--log-file', join(state, 'log'), ...flags], env);
    scope.after(async () => {
      process.child.kill('SIGKILL');
      await process.outcome;
    });
    const url = await until('the server listens', () => {
      if (process.child.exitCode !== null) throw new Error(process.said.stderr);
      const line = process.said.stdout.split('\n').find((text) => text.includes('"listening"'));
      return line && (JSON.parse(line) as { url: string }).url;
    });
    const target = new Target({ url, state, process });
    scope.after(() => target.client.close());
    return target;
  }

  get pid(): number {
    return this.#process.child.pid as number;
  }

  /** All that the server has printed and logged. */
  async said(): Promise<string> {
    const { stdout, stderr } = this.#process.said;
    return stdout + stderr + (await readFile(join(this.state, 'log'), 'utf8'));
  }

  /** Makes the server read its auth file again. */
  hangUp(): void {
    this.#process.child.kill('SIGHUP');
  }

  /** Resident memory, in bytes. */
  async memory(): Promise<number> {
    const status = await readFile(`/proc/${this.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
  }

  /** It still runs, answers, and has logged no fault of its own. */
  async assertUnharmed(after: string): Promise<void> {
    assert.equal(this.#process.child.exitCode, null, `the server has ended after ${after}`);
    const answer = await fetch(`${this.url}/healthz`);
    assert.equal(answer.status, 200, `healthz after ${after}`);
    const log = await readFile(join(this.state, 'log'), 'utf8');
    const faults = log.split('\n').filter((line) => line !== '' && JSON.parse(line).level >= ERROR);
    assert.deepEqual(faults, [], `the server failed on something: ${after}`);
    assert.doesNotMatch(this.#process.said.stderr, /Error|at .*\.ts:\d/, `on stderr after ${after}`);
  }
}
