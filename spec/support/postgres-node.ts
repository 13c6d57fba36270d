import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { NOBODY } from './nobody.ts';
import { postgresPrograms } from './postgres-programs.ts';

export interface NodeOptions {
  /** Where sockets and log go, and its data: of nobody, where this is root. */
  directory: string;
  /** Of its data within the directory. */
  name: string;
  port: number;
  settings: Readonly<Record<string, string>>;
}

/** One server of PostgreSQL. It does not run as root, who lends it to nobody. */
export class PostgresNode {
  readonly port: number;
  readonly #options: NodeOptions;
  readonly #programs: string;
  readonly #data: string;

  constructor(options: NodeOptions) {
    const programs = postgresPrograms();
    if (programs === undefined) throw new Error('there is no PostgreSQL');
    this.port = options.port;
    this.#options = options;
    this.#programs = programs;
    this.#data = join(options.directory, options.name);
  }

  /** Makes its data anew, with nothing in it. */
  async make(): Promise<void> {
    const how = ['-A', 'trust', '-E', 'UTF8', '--locale=C', '--no-sync'];
    await this.#run('initdb', '-D', this.#data, '-U', 'jq', ...how);
  }

  /** Makes its data anew, as those of another one that runs, which it will follow as its replica. */
  async follow({ port }: PostgresNode): Promise<void> {
    await rm(this.#data, { recursive: true, force: true });
    const how = ['-R', '-c', 'fast', '-X', 'stream', '--no-sync'];
    await this.#run(
      ...['pg_basebackup', '-h', '127.0.0.1', '-p', `${port}`, '-U', 'jq', '-D', this.#data],
      ...how,
    );
  }

  async start(): Promise<void> {
    const { directory, settings } = this.#options;
    const all = {
      listen_addresses: '127.0.0.1',
      unix_socket_directories: directory,
      shared_buffers: '32MB',
      ...settings,
    };
    const options = Object.entries(all).map(([name, value]) => `-c ${name}='${value}'`);
    const log = `${this.#data}.log`;
    const how = ['-w', '-l', log, '-o', `-p ${this.port} ${options.join(' ')}`];
    await this.#run('pg_ctl', '-D', this.#data, ...how, 'start').catch(async (fault: Error) => {
      throw new Error(`${fault.message}: ${await readFile(log, 'utf8').catch(() => 'no log')}`);
    });
  }

  /** The end of being a replica. */
  async promote(): Promise<void> {
    await this.#run('pg_ctl', '-D', this.#data, '-w', 'promote');
  }

  async stop(): Promise<void> {
    await this.#run('pg_ctl', '-D', this.#data, '-m', 'immediate', '-w', 'stop');
  }

  /** `kill -9` to all of its processes, as if its machine were gone. What the system keeps of it is taken away. */
  kill(): void {
    const segment = this.#note(6).split(/\s+/)[1];
    this.signal('SIGKILL');
    // Who is to start in its place may find its number still there, of a process that nobody has looked after yet.
    const socket = join(this.#options.directory, `.s.PGSQL.${this.port}`);
    for (const left of [socket, `${socket}.lock`]) rmSync(left, { force: true });
    if (segment) spawnSync('ipcrm', ['-m', segment]);
  }

  /** The same where it runs. */
  killIfThere(): void {
    if (existsSync(join(this.#data, 'postmaster.pid'))) this.kill();
  }

  /** To all of its processes. */
  signal(name: 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): void {
    const first = Number(this.#note(0));
    for (const pid of [first, ...childrenOf(first)]) signal(pid, name);
  }

  /** A line of what it notes of itself (manual, "postmaster.pid"): 0 is its process, 6 its shared memory. */
  #note(line: number): string {
    const lines = readFileSync(join(this.#data, 'postmaster.pid'), 'utf8').split('\n');
    return lines[line]?.trim() ?? '';
  }

  /** What is asked on the command line of its own user, statement by statement. */
  query(url: string, ...sql: string[]): Promise<string> {
    const asked = sql.flatMap((statement) => ['-c', statement]);
    return this.#run('psql', '-X', '-q', '-At', '-v', 'ON_ERROR_STOP=1', '-d', url, ...asked);
  }

  async createDatabase(name: string): Promise<void> {
    await this.#run('createdb', '-h', this.#options.directory, '-p', `${this.port}`, '-U', 'jq', name);
  }

  /** What a program prints. Its output goes nowhere where others are left behind by it, which would hold a pipe open. */
  async #run(program: string, ...args: string[]): Promise<string> {
    const identity = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
    const told = program === 'pg_ctl' ? 'ignore' : 'pipe';
    const child = spawn(join(this.#programs, program), args, {
      ...identity,
      cwd: this.#options.directory,
      stdio: ['ignore', told, told],
    });
    const said = { stdout: '', stderr: '' };
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream]?.on('data', (chunk) => {
        said[stream] += chunk;
      });
    const [code] = (await once(child, 'close')) as [number | null];
    if (code !== 0) throw new Error(`${program} ended with ${code}: ${said.stderr}`);
    return said.stdout;
  }
}

function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((each) => parentOf(each) === pid);
}

function parentOf(pid: number): number | null {
  try {
    return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1]);
  } catch {
    return null;
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (fault) {
    // It saw the end of another one.
    if ((fault as NodeJS.ErrnoException).code !== 'ESRCH') throw fault;
  }
}
