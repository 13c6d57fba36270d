import { type ChildProcess, spawn } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { until } from './until.ts';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Bytes of a program's output that are kept, from its beginning. */
const KEPT = 256 * 1024;
/** Seconds in which a program says something, on a machine that has much else to do. */
const PATIENCE = 120;

/** How a program ended. */
export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A program as a process of its own, its output collected. */
export class Program {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  #over = false;
  #stdout = '';
  #stderr = '';

  constructor(command: string, args: readonly string[], env: Record<string, string> = {}) {
    this.child = spawn(command, args, {
      cwd: ROOT,
      env: { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout?.on('data', (chunk) => {
      if (this.#stdout.length < KEPT) this.#stdout += chunk;
    });
    this.child.stderr?.on('data', (chunk) => {
      if (this.#stderr.length < KEPT) this.#stderr += chunk;
    });
    this.ended = new Promise((resolve, reject) => {
      this.child.on('error', reject);
      this.child.on('exit', (code, signal) => {
        this.#over = true;
        resolve({ code, signal });
      });
    });
    this.ended.catch(() => {});
  }

  get pid(): number {
    return this.child.pid as number;
  }

  get over(): boolean {
    return this.#over;
  }

  get stdout(): string {
    return this.#stdout;
  }

  get stderr(): string {
    return this.#stderr;
  }

  /** SIGKILL, and the wait for its end. */
  async kill(): Promise<Ended> {
    this.child.kill('SIGKILL');
    return this.ended;
  }

  /** SIGTERM, and the wait for its end; SIGKILL if that does not come. */
  async terminate(seconds = PATIENCE): Promise<Ended> {
    this.child.kill('SIGTERM');
    const late = setTimeout(() => this.child.kill('SIGKILL'), seconds * 1000);
    const ended = await this.ended;
    clearTimeout(late);
    return ended;
  }

  /** The event of this name among the lines of JSON that the program prints. Rejects when it ends before. */
  async announced(event: string): Promise<Record<string, unknown>> {
    const line = () => this.stdout.split('\n').find((text) => text.includes(`"event":"${event}"`));
    try {
      await until(`${event} to be announced, or its end`, () => line() !== undefined || this.#over, PATIENCE);
    } catch (fault) {
      const busy = `${processorTimeOf(this.pid)} s of processor time`;
      throw new Error(`${(fault as Error).message}; after ${busy} it said: ${this.stdout} ${this.stderr}`);
    }
    const found = line();
    if (found === undefined) throw new Error(`it ended before it announced ${event}: ${this.stderr}`);
    return JSON.parse(found) as Record<string, unknown>;
  }
}

/** What the kernel counts of a process, in bytes where they are bytes. */
export function memoryOf(pid: number): { resident: number; peak: number } {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const of = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024;
  return { resident: of('VmRSS'), peak: of('VmHWM') };
}

/** From now on `peak` counts anew. */
export const forgetPeak = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, '5');

export const openFilesOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

/** Seconds of processor time that a process has used. */
export function processorTimeOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}

/** How often a process went to rest of its own accord, as one does that waits for something. */
export function restsOf(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(status)?.[1]);
}

/** Processes whose command line holds a text, zombies left out. */
export function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map(Number)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(text);
      } catch {
        return false;
      }
    });
}

/**
 * A free port that the kernel gives to no outgoing connection: who connects again and again to a server that is
 * away would otherwise, now and then, reach itself.
 */
export async function quietPort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const port = 10_000 + Math.floor(Math.random() * 20_000);
    const free = await new Promise<boolean>((resolve) => {
      const server = createServer().once('error', () => resolve(false));
      server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(true)));
    });
    if (free) return port;
  }
  throw new Error('no free port between 10,000 and 30,000');
}
