import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { ServerConfig } from '../../bin/programs/server-config.ts';
import type { Answer, Order } from './orders.ts';

const PROCESS = fileURLToPath(new URL('./server-process.ts', import.meta.url));
const DATED = pathToFileURL(fileURLToPath(new URL('./dated.mjs', import.meta.url))).href;

/** What a program is started with that is to have a date. */
export const dated = (at: number): Record<string, string> => ({
  PATH: process.env.PATH ?? '',
  HOME: process.env.HOME ?? '',
  NODE_OPTIONS: `--import ${DATED}`,
  JQ_YEAR_AT: String(at),
});

/** That the process ended before it had done what it was told. */
export class ServerDied extends Error {}

/** The process of a server, whose time is told to it. */
export class YearServer {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, { resolve(said: object): void; reject(fault: Error): void }>();
  #orders = 0;
  #over = false;
  #said = '';
  readonly ended: Promise<unknown>;
  /** Milliseconds from the call of the start, once the program is loaded, until it listens. */
  startMs = 0;

  private constructor(home: string, at: number, config: ServerConfig) {
    this.#child = fork(PROCESS, [JSON.stringify({ home, at, config })], {
      execArgv: ['--import', 'tsx', '--expose-gc'],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      env: dated(at),
    });
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#said = (this.#said + text).slice(-4000);
    });
    this.#child.on('message', ({ id, said, fault }: Answer) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (fault === undefined) waiting?.resolve(said ?? {});
      else waiting?.reject(new Error(fault));
    });
    this.ended = once(this.#child, 'exit').then(() => {
      this.#over = true;
      for (const { reject } of this.#waiting.values())
        reject(new ServerDied(`the server has ended: ${this.#said}`));
      this.#waiting.clear();
    });
  }

  /** @param home the folder of the installation @param at the second at which it starts */
  static async start(home: string, at: number, config: ServerConfig): Promise<YearServer> {
    const server = new YearServer(home, at, config);
    const { startMs } = (await server.#answer(0)) as { startMs: number };
    server.startMs = startMs;
    return server;
  }

  get over(): boolean {
    return this.#over;
  }

  /** @throws ServerDied */
  tell(order: Order): Promise<object> {
    const id = ++this.#orders;
    const answer = this.#answer(id);
    if (this.#over) this.#waiting.get(id)?.reject(new ServerDied('the server has ended'));
    else this.#child.send({ id, order });
    return answer;
  }

  /** Bytes, once what is garbage is collected. */
  async memory(): Promise<{ rss: number; heapUsed: number }> {
    return (await this.tell({ do: 'measure' })) as { rss: number; heapUsed: number };
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.ended;
  }

  /** Ends it in order. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.ended;
  }

  #answer(id: number): Promise<object> {
    return new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
  }
}
