import { rm } from 'node:fs/promises';
import { folderOfFiles, newDatabase } from './postgres.ts';
import { PostgresNode } from './postgres-node.ts';
import { quietPort } from './program.ts';
import { until } from './until.ts';

/** A replica says that it has everything. */
const HAS_ALL =
  "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND flush_lsn >= pg_current_wal_lsn()";
/** Commits wait for a replica. */
const IS_WAITED_FOR = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";

/**
 * A primary of PostgreSQL and its replica, without which nothing is committed: `synchronous_standby_names` is set on the
 * primary, and on nobody else, so that the replica goes on alone once it has been promoted.
 */
export class PostgresPair {
  readonly #directory: string;
  #primary: PostgresNode;
  #replica: PostgresNode;

  private constructor(directory: string, primary: PostgresNode, replica: PostgresNode) {
    this.#directory = directory;
    this.#primary = primary;
    this.#replica = replica;
  }

  static async start(): Promise<PostgresPair> {
    const directory = await folderOfFiles();
    const node = async (name: string) =>
      new PostgresNode({
        ...{ directory, name, port: await quietPort() },
        // Nothing of those that are killed is left behind in memory.
        settings: { dynamic_shared_memory_type: 'mmap', recovery_init_sync_method: 'syncfs' },
      });
    const pair = new PostgresPair(directory, await node('one'), await node('other'));
    await pair.#primary.make();
    await pair.#primary.start();
    await pair.restore();
    return pair;
  }

  /** Of both, the one that takes writes first. */
  get ports(): [number, number] {
    return [this.#primary.port, this.#replica.port];
  }

  /** The name of a new database. */
  async database(): Promise<string> {
    return new URL(await newDatabase(this.#primary)).pathname.slice(1);
  }

  /** Until it is told to go on, the replica stands still, and so does whoever waits for it. */
  holdReplica(): () => void {
    this.#replica.signal('SIGSTOP');
    return () => this.#replica.signal('SIGCONT');
  }

  /** The primary and all its processes are killed, and the replica is promoted. */
  async failOver(): Promise<void> {
    this.#primary.kill();
    await this.#replica.promote();
    [this.#primary, this.#replica] = [this.#replica, this.#primary];
  }

  /** The one that was killed comes back as the replica of the other one, and commits wait for it. */
  async restore(): Promise<void> {
    await this.#replica.follow(this.#primary);
    await this.#replica.start();
    await this.#holds(HAS_ALL);
    await this.#ask("ALTER SYSTEM SET synchronous_standby_names = '*'", 'SELECT pg_reload_conf()');
    await this.#holds(IS_WAITED_FOR);
    await this.#holds(HAS_ALL);
  }

  async stop(): Promise<void> {
    for (const node of [this.#primary, this.#replica]) await node.stop().catch(() => {});
    await rm(this.#directory, { recursive: true, force: true });
  }

  #ask(...sql: string[]): Promise<string> {
    return this.#primary.query(`postgres://jq@127.0.0.1:${this.#primary.port}/postgres`, ...sql);
  }

  async #holds(counted: string): Promise<void> {
    await until(`the replica: ${counted}`, async () => Number((await this.#ask(counted)).trim()) > 0, 120);
  }
}
