import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { LinkState } from './faulty-link.ts';

const PROGRAM = fileURLToPath(new URL('./link-program.ts', import.meta.url));

/** What the process of the links is told: to make one, or to change one. */
export interface LinkRequest {
  number: number;
  /** Where a new one leads. */
  upstream?: number;
  /** Of the one that is meant. */
  port?: number;
  state?: LinkState;
}

export interface LinkAnswer {
  number: number;
  port: number;
}

/** `FaultyLink`s in a process of their own. */
export class Links {
  readonly #child: ChildProcess = fork(PROGRAM, { execArgv: ['--import', 'tsx'] });
  readonly #asked = new Map<number, (port: number) => void>();
  #number = 0;

  constructor() {
    this.#child.on('message', ({ number, port }: LinkAnswer) => {
      this.#asked.get(number)?.(port);
      this.#asked.delete(number);
    });
  }

  /** A new one that leads to this port. @returns its own */
  to(upstream: number): Promise<number> {
    return this.#ask({ upstream });
  }

  /** Resolves once that is so. */
  async set(ports: readonly number[], state: LinkState): Promise<void> {
    await Promise.all(ports.map((port) => this.#ask({ port, state })));
  }

  async close(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.disconnect();
    await ended;
  }

  #ask(request: Omit<LinkRequest, 'number'>): Promise<number> {
    const number = this.#number++;
    return new Promise((resolve) => {
      this.#asked.set(number, resolve);
      this.#child.send({ number, ...request });
    });
  }
}
