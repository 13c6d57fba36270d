import { type ChildProcess, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import { overloaded } from '../reply/refusal.ts';
import type { ParseRequest, ParseResponse } from './messages.ts';

const CHILD = new URL('./child.mjs', import.meta.url);

export interface ParserLimits {
  /** How many read at the same time. */
  processes: number;
  /** Bodies that may wait for a reader; more are refused. */
  waiting: number;
  /** Milliseconds that one body may take. */
  timeoutMs: number;
  /** Milliseconds after which a reader without work ends. */
  idleMs: number;
  /** MiB that a reader's values may take. */
  memoryMib: number;
}

export const PARSER_LIMITS: ParserLimits = {
  // One processor is left to the event loop.
  processes: Math.min(2, Math.max(1, availableParallelism() - 1)),
  waiting: 256,
  timeoutMs: 30_000,
  idleMs: 120_000,
  memoryMib: 1024,
};

/** Milliseconds by which a timer is late where nothing was done meanwhile. */
const STOOD_STILL_MS = 1_000;

interface Job {
  request: ParseRequest;
  resolve(read: unknown): void;
  reject(fault: unknown): void;
}

/**
 * Child processes that parse bodies which would block the event loop for too long. They are started on demand and end
 * when idle; one that takes too long, or too much memory, is killed with the body that it parses. They are processes
 * and not threads because V8 aborts the whole process when a thread runs out of memory.
 */
export class ParserPool {
  readonly #limits: ParserLimits;
  readonly #processes = new Set<ParserProcess>();
  readonly #waiting: Job[] = [];
  #stopped = false;

  constructor(limits: Partial<ParserLimits> = {}) {
    this.#limits = { ...PARSER_LIMITS, ...limits };
  }

  /** How many there are now. */
  get size(): number {
    return this.#processes.size;
  }

  /**
   * Reads a body elsewhere.
   * @throws ClusterError what the body is refused for; `overloaded`; `body_too_complex` when it takes too much
   */
  parse(request: ParseRequest): Promise<unknown> {
    if (this.#waiting.length >= this.#limits.waiting) {
      return Promise.reject(overloaded('too many large requests wait to be read'));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      this.#next();
    });
  }

  /** Ends the parser processes; what still waits is refused. Idempotent. */
  stop(): void {
    this.#stopped = true;
    for (const { reject } of this.#waiting.splice(0)) reject(overloaded('the server is shutting down'));
    for (const parser of this.#processes) parser.end();
  }

  #next(): void {
    if (this.#waiting.length === 0 || this.#stopped) return;
    const parser = [...this.#processes].find((one) => one.isFree) ?? this.#start();
    const job = parser && this.#waiting.shift();
    if (job) parser.take(job);
  }

  #start(): ParserProcess | undefined {
    if (this.#processes.size >= this.#limits.processes) return undefined;
    const parser = new ParserProcess(this.#limits, {
      free: () => this.#next(),
      ended: () => {
        this.#processes.delete(parser);
        this.#next();
      },
    });
    this.#processes.add(parser);
    return parser;
  }
}

/** One child, which reads one body at a time. */
class ParserProcess {
  readonly #limits: ParserLimits;
  readonly #pool: { free(): void; ended(): void };
  readonly #child: ChildProcess;
  #job: Job | null = null;
  #ending = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: ParserLimits, pool: { free(): void; ended(): void }) {
    this.#limits = limits;
    this.#pool = pool;
    this.#child = fork(CHILD, {
      execArgv: [`--max-old-space-size=${limits.memoryMib}`],
      // Bytes and texts go over as they are.
      serialization: 'advanced',
      // Out of memory, V8 prints pages of text. What is wrong with a body comes as a response.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.#child.on('message', (answer: ParseResponse) => this.#answered(answer));
    this.#child.on('error', (fault) =>
      this.#ended(overloaded(`large requests cannot be read: ${fault.message}`)),
    );
    this.#child.on('exit', (code, signal) => this.#ended(whyEnded(code, signal)));
  }

  get isFree(): boolean {
    return this.#job === null && !this.#ending;
  }

  take(job: Job): void {
    this.#job = job;
    this.#keepAlive(true);
    this.#limitTime();
    this.#child.send(job.request);
  }

  /**
   * The time in which this process stood still, or was busy, does not count: the child may have stood still with it, and
   * what it has answered meanwhile waits to be read.
   */
  #limitTime(): void {
    const { timeoutMs } = this.#limits;
    const due = performance.now() + timeoutMs;
    this.#setTimer(timeoutMs, () => {
      if (performance.now() > due + STOOD_STILL_MS) return this.#limitTime();
      this.#failed(tooComplex(`takes more than ${timeoutMs / 1000} s to read`));
      this.end();
    });
  }

  end(): void {
    this.#ending = true;
    this.#child.kill('SIGKILL');
  }

  #answered(answer: ParseResponse): void {
    const job = this.#job;
    this.#job = null;
    this.#keepAlive(false);
    this.#setTimer(this.#limits.idleMs, () => this.end());
    if ('read' in answer) job?.resolve(answer.read);
    else if ('fault' in answer) job?.reject(new Error(`a body could not be read: ${answer.fault}`));
    else {
      const { code, detail, faults } = answer.refused;
      job?.reject(new ClusterError(code, detail, { faults }));
    }
    this.#pool.free();
  }

  #ended(error: Error): void {
    this.#ending = true;
    this.#failed(error);
    clearTimeout(this.#timer);
    this.#pool.ended();
  }

  #failed(error: Error): void {
    this.#job?.reject(error);
    this.#job = null;
  }

  /** Whether this process stays alive while the child works. */
  #keepAlive(stays: boolean): void {
    for (const held of [this.#child, this.#child.channel]) stays ? held?.ref() : held?.unref();
  }

  #setTimer(milliseconds: number, then: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(then, milliseconds).unref();
  }
}

/** What V8 ends with when memory is at its end, and the code of the same where there are no signals. */
const ABORTED = { signals: ['SIGABRT', 'SIGTRAP', 'SIGILL'], code: 134 };

/** The system ends what takes the machine's memory with SIGKILL. */
function whyEnded(code: number | null, signal: NodeJS.Signals | null): Error {
  const isMemory = signal === 'SIGKILL' || ABORTED.signals.includes(signal ?? '') || code === ABORTED.code;
  return isMemory
    ? tooComplex('takes too much memory')
    : new Error(`the process that reads a body ended (${signal ?? `code ${code}`})`);
}

const tooComplex = (why: string): ClusterError =>
  new ClusterError('body_too_complex', `the body ${why}; send less in one request`);
