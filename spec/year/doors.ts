import { join } from 'node:path';
import { ClusterClient } from '../../gateway/client/client.ts';
import { run } from '../cli/cli-support.ts';
import { must } from '../history/history.ts';
import { Program } from '../support/program.ts';
import { dated } from './year-server.ts';

export const PEOPLE = ['ann', 'ben', 'cleo'] as const;
export type Principal = (typeof PEOPLE)[number] | 'lab' | 'viewer' | 'chief';

const ROLES: Record<Principal, string> = {
  ...{ ann: 'submitter', ben: 'submitter', cleo: 'submitter' },
  ...{ lab: 'executor', viewer: 'viewer', chief: 'admin' },
};

/** The auth file, as `jqctl tokens` keeps it, and a client for everybody in it. */
export class Doors {
  readonly path: string;
  readonly #url: string;
  readonly #tokens = new Map<Principal, string>();
  readonly #clients = new Map<Principal, ClusterClient>();

  constructor(path: string, url: string) {
    this.path = path;
    this.#url = url;
  }

  async add(): Promise<void> {
    for (const [who, role] of Object.entries(ROLES) as [Principal, string][]) {
      const { stdout } = await run([
        'tokens',
        'add',
        who,
        '--role',
        role,
        '--auth-file',
        this.path,
        '--json',
      ]);
      this.#tokens.set(who, tokenIn(stdout));
    }
  }

  of(who: Principal): ClusterClient {
    const token = this.#tokens.get(who) as string;
    const client = this.#clients.get(who) ?? this.#with(token, who === 'lab' ? 'worker' : 'client');
    this.#clients.set(who, client);
    return client;
  }

  /**
   * A new token, beside which that of before goes on for an hour.
   * @param home the folder of the installation
   * @param at seconds since the epoch
   * @returns a client with that of before
   */
  async rotate(who: Principal, home: string, at: number): Promise<ClusterClient> {
    const before = this.of(who);
    this.#clients.delete(who);
    const args = ['tokens', 'rotate', who, '--overlap', '1h', '--auth-file', this.path, '--json'];
    const program = new Program(process.execPath, [join(home, 'bin/jqctl'), ...args], dated(at));
    const { code } = await program.ended;
    must(code === 0, `jqctl ${args.join(' ')}: ${program.stderr}`);
    this.#tokens.set(who, tokenIn(program.stdout));
    return before;
  }

  async close(): Promise<void> {
    for (const client of this.#clients.values()) await client.close();
  }

  #with(token: string, role: 'client' | 'worker'): ClusterClient {
    return new ClusterClient({ server: this.#url, token, role });
  }
}

const tokenIn = (said: string): string => (JSON.parse(said) as { token: string }).token;
