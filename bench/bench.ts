import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isTmpfs } from './measure/disk.ts';
import { type MeasuredServer, type Settings, startServer } from './measure/server.ts';

/** `full` gives the figures of the report, `quick` an impression in a minute, `tiny` proves that all of it runs. */
export type Scale = 'full' | 'quick' | 'tiny';

export interface BenchOptions {
  scale: Scale;
  /** Where state directories are made: a real disk, since every figure holds an fsync. */
  folder: string;
  /** Minutes of the soak. */
  minutes: number;
  /** A directory for CPU profiles of the servers. */
  profile?: string | undefined;
}

/** What a run of a workload works with; `close` ends and removes whatever it started. */
export class Bench {
  readonly options: BenchOptions;
  readonly #folders: string[] = [];
  readonly #servers: MeasuredServer[] = [];

  /** @throws Error when the folder lies in memory */
  constructor(options: BenchOptions) {
    this.options = options;
    mkdirSync(options.folder, { recursive: true });
    if (options.scale !== 'tiny' && isTmpfs(options.folder)) {
      throw new Error(
        `${options.folder} lies in memory, where an fsync costs nothing; name a disk with --dir`,
      );
    }
    process.once('exit', this.#removeFolders);
  }

  /** A count by scale. */
  pick<Value>(full: Value, quick: Value, tiny: Value): Value {
    return { full, quick, tiny }[this.options.scale];
  }

  /** An empty directory. */
  directory(): string {
    const path = mkdtempSync(join(this.options.folder, 'run-'));
    this.#folders.push(path);
    return path;
  }

  /** A real server process, on a fresh state unless one is given. */
  async server(state: string = this.directory(), settings: Partial<Settings> = {}): Promise<MeasuredServer> {
    const server = await startServer(state, this.options.profile, settings);
    this.#servers.push(server);
    return server;
  }

  /** Ends the servers, all of them, and removes the directories. */
  async close(): Promise<void> {
    const stopping = this.#servers
      .splice(0)
      .map((server) => (this.options.profile ? server.stop() : server.kill()));
    await Promise.all(stopping);
    this.#removeFolders();
    process.off('exit', this.#removeFolders);
  }

  /** Also where the bench is ended from outside, when its servers have just been killed. */
  readonly #removeFolders = (): void => {
    for (const path of this.#folders.splice(0))
      rmSync(path, { recursive: true, force: true, maxRetries: 20 });
  };
}
