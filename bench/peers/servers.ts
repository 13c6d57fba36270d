import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, existsSync, mkdirSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { until } from '../../spec/support/until.ts';

/** A database server of the peers, on a free port of the loopback address. */
export interface PeerServer {
  port: number;
  version: string;
  stop(): Promise<void>;
}

const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Redis that syncs its append-only file before it answers a write. */
export async function startRedis(folder: string): Promise<PeerServer> {
  const port = await freePort();
  const options = {
    port,
    bind: '127.0.0.1',
    dir: folder,
    save: '',
    appendonly: 'yes',
    appendfsync: 'always',
  };
  const argv = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const version = /v=(\S+)/.exec(execFileSync('redis-server', ['--version'], { encoding: 'utf8' }))?.[1];
  return serve('redis-server', argv, port, `Redis ${version}`, 'SIGTERM');
}

/** PostgreSQL as it comes, fsync and synchronous commits on. It refuses to run as root, so it runs as `postgres`. */
export async function startPostgres(folder: string): Promise<PeerServer> {
  const port = await freePort();
  const bin = postgresFolder();
  const data = join(folder, 'postgres');
  mkdirSync(data);
  const identity = process.getuid?.() === 0 ? userIds('postgres') : null;
  if (identity) {
    for (const path of [folder, data]) chownSync(path, identity.uid, identity.gid);
  }
  const initdb = ['-D', data, '-U', 'postgres', '--auth=trust', '--no-sync', '--locale=C', '--encoding=UTF8'];
  execFileSync(join(bin, 'initdb'), initdb, { ...identity, cwd: folder, stdio: 'ignore' });
  const settings = [
    'listen_addresses=127.0.0.1',
    'unix_socket_directories=',
    'fsync=on',
    'synchronous_commit=on',
    'shared_buffers=512MB',
    'max_connections=200',
    'logging_collector=off',
  ];
  const argv = ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])];
  const program = join(bin, 'postgres');
  const version = execFileSync(program, ['--version'], { encoding: 'utf8' }).trim();
  // SIGINT: a fast shutdown, which does not wait for clients.
  return serve(program, argv, port, version.replace('postgres (PostgreSQL)', 'PostgreSQL'), 'SIGINT', {
    ...identity,
    cwd: folder,
  });
}

async function serve(
  program: string,
  argv: string[],
  port: number,
  version: string,
  signal: NodeJS.Signals,
  options: { uid?: number; gid?: number; cwd?: string } = {},
): Promise<PeerServer> {
  const child = spawn(program, argv, { ...options, stdio: ['ignore', 'ignore', 'ignore'] });
  running.add(child);
  const exited = once(child, 'exit').then(() => running.delete(child));
  await until(`${program} listens`, () => {
    if (child.exitCode !== null) throw new Error(`${program} ended with ${child.exitCode}`);
    return accepts(port);
  });
  return {
    port,
    version,
    async stop() {
      child.kill(signal);
      await exited;
    },
  };
}

/** Debian keeps the programs out of the path. */
function postgresFolder(): string {
  const versions = ['17', '16', '15', '14'].map((version) => `/usr/lib/postgresql/${version}/bin`);
  const folder = versions.find((path) => existsSync(join(path, 'initdb')));
  if (folder === undefined) throw new Error('PostgreSQL is missing: apt-get install postgresql');
  return folder;
}

function userIds(user: string): { uid: number; gid: number } {
  const id = (flag: string) => Number(execFileSync('id', [flag, user], { encoding: 'utf8' }));
  return { uid: id('-u'), gid: id('-g') };
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
