/**
 * The whole way of a job on one machine: a server, a worker, a comparison of seven pipelines on real spectra,
 * the ranking, and the best model in `demo-results/`. Every step is a program of `bin/`, as a person would
 * start it. `npm run demo`
 *
 * No TypeScript, since to load what translates that takes as long as a program takes to start.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const JOB = 'examples/gasoline-matrix.yaml';
/** Where the person is, seen from where the programs run. */
const RESULTS = relative(ROOT, resolve('demo-results'));
/** Milliseconds until a program that was told to stop is killed. */
const GRACE = 10_000;

class Stopped extends Error {}

/** The programs of one demonstration; whatever happens, `clean` leaves nothing of them behind. */
class Demo {
  #state;
  /** @type {import('node:child_process').ChildProcess[]} */
  #services = [];
  /** @type {Set<import('node:child_process').ChildProcess>} */
  #steps = new Set();
  #env;
  #stopped = false;

  /** @param {string} state a directory */
  constructor(state) {
    this.#state = state;
    // The demonstration has a server of its own, whatever the person's environment names.
    this.#env = { ...process.env, JQ_SERVER: undefined, JQ_TOKEN: undefined };
  }

  async run() {
    const server = ['--port', '0', '--state', join(this.#state, 'server')];
    const url = (await this.#service('jq-server', server, 'listening')).url;
    say(`a server listens on ${url} (dashboard: ${url}/ui)`);
    this.#env = { ...this.#env, JQ_SERVER: url };
    const worker = ['--slots', '2', '--name', 'demo', '--state', join(this.#state, 'worker')];
    await this.#service('jq-worker', worker, 'started');
    say('a worker with two slots is there\n');
    await this.#step('jqctl', ['submit', JOB, '--wait']);
    const jobs = await (await fetch(`${url}/v1/jobs`)).json();
    const id = jobs[0]?.id ?? '';
    say('');
    await this.#step('jqctl', ['artifacts', id, '--out', RESULTS, '--role', 'best_model']);
    say(`\nThe best model is in demo-results/. Now with your own data: see the README.`);
  }

  /**
   * Starts a program that serves, and gives the event that says it is ready.
   * @param {string} program
   * @param {string[]} args
   * @param {string} ready
   */
  async #service(program, args, ready) {
    const all = [...args, '--json', '--log-file', join(this.#state, `${program}.log`)];
    // In a group of its own: Ctrl-C reaches this program alone, which then stops them in order.
    const child = this.#spawn(program, all, ['ignore', 'pipe', 'inherit'], true);
    this.#services.unshift(child);
    for await (const line of createInterface({ input: child.stdout })) {
      const event = JSON.parse(line);
      if (event.event !== ready) continue;
      child.stdout?.resume();
      return event;
    }
    throw this.#stopped ? new Stopped() : new Error(`${program} ended before it was ready`);
  }

  /**
   * Runs a command to its end.
   * @param {string} program
   * @param {string[]} args
   */
  async #step(program, args) {
    if (this.#stopped) throw new Stopped();
    say(`$ ${program} ${args.join(' ')}`);
    const child = this.#spawn(program, args, ['ignore', 'inherit', 'inherit'], false);
    this.#steps.add(child);
    const [code] = await once(child, 'exit');
    this.#steps.delete(child);
    if (this.#stopped) throw new Stopped();
    if (code !== 0) throw new Error(`'${program} ${args.join(' ')}' ended with exit code ${code}`);
  }

  #spawn(program, args, stdio, detached) {
    const file = join(ROOT, 'bin', program);
    return spawn(process.execPath, [file, ...args], { cwd: ROOT, env: this.#env, stdio, detached });
  }

  /** Makes the step under way fail, so that `run` ends. */
  stop() {
    this.#stopped = true;
    for (const child of [...this.#steps, ...this.#services]) child.kill('SIGTERM');
  }

  /** Stops the worker, then the server, and removes their state. */
  async clean() {
    for (const child of this.#services) await end(child);
    await rm(this.#state, { recursive: true, force: true });
  }

  async tellLogs() {
    for (const program of ['jq-server', 'jq-worker']) {
      const log = await readFile(join(this.#state, `${program}.log`), 'utf8').catch(() => '');
      const last = log.trim().split('\n').slice(-10).join('\n');
      if (last !== '') process.stderr.write(`--- the end of the log of ${program} ---\n${last}\n`);
    }
  }
}

/** @param {import('node:child_process').ChildProcess} child */
async function end(child) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, 'exit');
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), GRACE);
  await closed;
  clearTimeout(timer);
}

/** @param {string} text */
function say(text) {
  process.stdout.write(`${text}\n`);
}

const demo = new Demo(await mkdtemp(join(tmpdir(), 'jq-cluster-demo-')));
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
]) {
  process.on(signal, () => {
    process.exitCode = code;
    demo.stop();
  });
}
try {
  await demo.run();
} catch (fault) {
  process.exitCode ||= 1;
  if (!(fault instanceof Stopped)) {
    process.stderr.write(`the demonstration failed: ${fault.message}\n`);
    await demo.tellLogs();
  }
} finally {
  await demo.clean();
}
