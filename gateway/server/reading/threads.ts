import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { ClusterError } from '../../../machines/errors.ts';
import { overloaded } from '../refusal.ts';
import type { ReadAnswer, ReadOrder } from './order.ts';

const DOOR = new URL('./thread.mjs', import.meta.url);

export interface ThreadLimits {
  /** How many read at the same time. */
  threads: number;
  /** Bodies that may wait for a thread; more are refused. */
  waiting: number;
  /** Milliseconds that one body may take. */
  patience: number;
  /** Milliseconds after which a thread without work ends. */
  idle: number;
  /** MiB that a thread's values may take. */
  memory: number;
}

export const THREAD_LIMITS: ThreadLimits = {
  // One processor is left to the event loop.
  threads: Math.min(2, Math.max(1, availableParallelism() - 1)),
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
 * Threads that read what would keep the event loop too long. They are started when they are needed and end when nothing
 * has come for a while; one that takes too long, or more memory than it may, is ended with the body that it reads.
 */
export class ReadingThreads {
  readonly #limits: ThreadLimits;
  readonly #threads = new Set<ReadingThread>();
  readonly #waiting: Errand[] = [];
  #stopped = false;

  constructor(limits: Partial<ThreadLimits> = {}) {
    this.#limits = { ...THREAD_LIMITS, ...limits };
  }

  /** How many there are now. */
  get size(): number {
    return this.#threads.size;
  }

  /**
   * Reads a body in a thread. Its memory moves there: the bytes must not be used any more.
   * @throws ClusterError what the body is refused for; `overloaded`; `body_too_complex` when it takes too long
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

  /** Ends the threads; who still waits is refused. Idempotent. */
  stop(): void {
    this.#stopped = true;
    for (const { reject } of this.#waiting.splice(0)) reject(overloaded('the server is shutting down'));
    for (const thread of this.#threads) thread.end();
  }

  #next(): void {
    if (this.#waiting.length === 0 || this.#stopped) return;
    const thread = [...this.#threads].find((one) => one.isFree) ?? this.#start();
    const errand = thread && this.#waiting.shift();
    if (errand) thread.take(errand);
  }

  #start(): ReadingThread | undefined {
    if (this.#threads.size >= this.#limits.threads) return undefined;
    const thread = new ReadingThread(this.#limits, {
      free: () => this.#next(),
      ended: () => {
        this.#threads.delete(thread);
        this.#next();
      },
    });
    this.#threads.add(thread);
    return thread;
  }
}

/** One thread, which reads one body at a time. */
class ReadingThread {
  readonly #limits: ThreadLimits;
  readonly #tell: { free(): void; ended(): void };
  readonly #worker: Worker;
  #errand: Errand | null = null;
  #ending = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(limits: ThreadLimits, tell: { free(): void; ended(): void }) {
    this.#limits = limits;
    this.#tell = tell;
    this.#worker = new Worker(DOOR, {
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: limits.memory },
    });
    this.#worker.on('message', (answer: ReadAnswer) => this.#answered(answer));
    this.#worker.on('error', (fault) => this.#failed(fault));
    this.#worker.on('exit', () => {
      this.#failed(new Error('a reading thread ended'));
      clearTimeout(this.#timer);
      tell.ended();
    });
  }

  get isFree(): boolean {
    return this.#errand === null && !this.#ending;
  }

  take(errand: Errand): void {
    const { bytes } = errand.order;
    this.#errand = errand;
    this.#worker.ref();
    this.#wait(this.#limits.patience, () => {
      this.#failed(tooComplex(`takes more than ${this.#limits.patience / 1000} s to read`));
      this.end();
    });
    // Memory that others have a part of cannot move.
    const moves = bytes.byteLength === bytes.buffer.byteLength;
    const order = moves ? errand.order : { ...errand.order, bytes: new Uint8Array(bytes) };
    this.#worker.postMessage(order, [order.bytes.buffer as ArrayBuffer]);
  }

  end(): void {
    this.#ending = true;
    void this.#worker.terminate();
  }

  #answered(answer: ReadAnswer): void {
    const errand = this.#errand;
    this.#errand = null;
    this.#worker.unref();
    this.#wait(this.#limits.idle, () => this.end());
    if ('read' in answer) errand?.resolve(answer.read);
    else if ('fault' in answer) errand?.reject(new Error(`a body could not be read: ${answer.fault}`));
    else {
      const { code, detail, faults } = answer.refused;
      errand?.reject(new ClusterError(code, detail, faults));
    }
    this.#tell.free();
  }

  #failed(fault: Error & { code?: string }): void {
    const refusal = fault.code === 'ERR_WORKER_OUT_OF_MEMORY' ? tooComplex('takes too much memory') : fault;
    this.#errand?.reject(refusal);
    this.#errand = null;
  }

  #wait(milliseconds: number, then: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(then, milliseconds).unref();
  }
}

const tooComplex = (why: string): ClusterError =>
  new ClusterError('body_too_complex', `the body ${why}; send less in one request`);
