import { type ChildProcess, fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { ClusterError } from '../../../machines/errors.ts';
import { overloaded } from '../refusal.ts';
import type { ReadAnswer, ReadOrder } from './order.ts';

const DOOR = new URL('./child.mjs', import.meta.url);

export interface ReaderLimits {
  /** How many read at the same time. */
  readers: number;
  /** Bodies that may wait for a reader; more are refused. */
  waiting: number;
  /** Milliseconds that one body may take. */
  patience: number;
  /** Milliseconds after which a reader without work ends. */
  idle: number;
  /** MiB that a reader's values may take. */
  memory: number;
}

export const READER_LIMITS: ReaderLimits = {
  // One processor is left to the event loop.
  readers: Math.min(2, Math.max(1, availableParallelism() - 1)),
  waiting: 256,
  patience: 30_000,
  idle: 120_000,
  memory: 1024,
};

interface Errand {
  order: ReadOrder;
  resolve(read: unknown): void;
  reject(fault: unknown): void;
}

/**
 * Child processes that read what would keep the event loop too long. They are started when they are needed and end when
 * nothing has come for a while; one that takes too long, or more memory than it may, ends with the body that it reads.
 * They are processes and no threads because V8 ends the whole process of a thread whose values have no room left.
 */
export class Readers {
  readonly #limits: ReaderLimits;
  readonly #readers = new Set<Reader>();
  readonly #waiting: Errand[] = [];
  #stopped = false;

  constructor(limits: Partial<ReaderLimits> = {}) {
    this.#limits = { ...READER_LIMITS, ...limits };
  }

  /** How many there are now. */
  get size(): number {
    return this.#readers.size;
  }

  /**
   * Reads a body elsewhere.
   * @throws ClusterError what the body is refused for; `overloaded`; `body_too_complex` when it takes too much
   */
  read(order: ReadOrder): Promise<unknown> {
    if (this.#waiting.length >= this.#limits.waiting) {
      return Promise.reject(overloaded('too many large requests wait to be read'));
    }
    return new Promise((resolve, reject) => {
      this.#waiting.push({ order, resolve, reject });
      this.#next();
    });
  }

  /** Ends the readers; who still waits is refused. Idempotent. */
  stop(): void {
    this.#stopped = true;
    for (const { reject } of this.#waiting.splice(0)) reject(overloaded('the server is shutting down'));
    for (const reader of this.#readers) reader.end();
  }

  #next(): void {
    if (this.#waiting.length === 0 || this.#stopped) return;
    const reader = [...this.#readers].find((one) => one.isFree) ?? this.#start();
    const errand = reader && this.#waiting.shift();
    if (errand) reader.take(errand);
  }

  #start(): Reader | undefined {
    if (this.#readers.size >= this.#limits.readers) return undefined;
    const reader = new Reader(this.#limits, {
      free: () => this.#next(),
      ended: () => {
        this.#readers.delete(reader);
        this.#next();
      },
    });
    this.#readers.add(reader);
    return reader;
  }
}

/** One child, which reads one body at a time. */
class Reader {
  readonly #limits: ReaderLimits;
  readonly #tell: { free(): void; ended(): void };
  readonly #child: ChildProcess;
  #errand: Errand | null = null;
  #ending = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: ReaderLimits, tell: { free(): void; ended(): void }) {
    this.#limits = limits;
    this.#tell = tell;
    this.#child = fork(DOOR, {
      execArgv: [`--max-old-space-size=${limits.memory}`],
      // Bytes and texts go over as they are.
      serialization: 'advanced',
      // Where memory ends, V8 says pages of it. What is wrong with a body comes as an answer.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    this.#child.on('message', (answer: ReadAnswer) => this.#answered(answer));
    this.#child.on('error', (fault) =>
      this.#over(overloaded(`large requests cannot be read: ${fault.message}`)),
    );
    this.#child.on('exit', (code, signal) => this.#over(whyEnded(code, signal)));
  }

  get isFree(): boolean {
    return this.#errand === null && !this.#ending;
  }

  take(errand: Errand): void {
    this.#errand = errand;
    this.#hold(true);
    this.#wait(this.#limits.patience, () => {
      this.#failed(tooComplex(`takes more than ${this.#limits.patience / 1000} s to read`));
      this.end();
    });
    this.#child.send(errand.order);
  }

  end(): void {
    this.#ending = true;
    this.#child.kill('SIGKILL');
  }

  #answered(answer: ReadAnswer): void {
    const errand = this.#errand;
    this.#errand = null;
    this.#hold(false);
    this.#wait(this.#limits.idle, () => this.end());
    if ('read' in answer) errand?.resolve(answer.read);
    else if ('fault' in answer) errand?.reject(new Error(`a body could not be read: ${answer.fault}`));
    else {
      const { code, detail, faults } = answer.refused;
      errand?.reject(new ClusterError(code, detail, faults));
    }
    this.#tell.free();
  }

  #over(fault: Error): void {
    this.#ending = true;
    this.#failed(fault);
    clearTimeout(this.#timer);
    this.#tell.ended();
  }

  #failed(fault: Error): void {
    this.#errand?.reject(fault);
    this.#errand = null;
  }

  /** Whether this process stays for its sake. */
  #hold(stays: boolean): void {
    for (const held of [this.#child, this.#child.channel]) stays ? held?.ref() : held?.unref();
  }

  #wait(milliseconds: number, then: () => void): void {
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
