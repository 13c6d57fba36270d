import { fileURLToPath } from 'node:url';
import type { ServerConfig } from '../../bin/programs/server-config.ts';
import { Program, ROOT } from './program.ts';
import { storeOf } from './test-store.ts';
import { TRANSPORT } from './transport.ts';

const LAUNCHER = fileURLToPath(new URL('./server-launcher.ts', import.meta.url));

/** Faults of store and disk that the launcher knows. */
export interface LaunchFaults {
  /** SIGKILL to itself when this commit (counted from 1) is about to begin. */
  dieBeforeCommit?: number;
  /** SIGKILL to itself when this commit is durable and nobody has been answered. */
  dieAfterCommit?: number;
  /** SIGKILL to itself when so many objects have been removed from the disk. */
  dieAtRemoval?: number;
  /** Milliseconds that every commit takes longer. */
  slowMs?: number;
  /** Everything that comes due by the clock does so many times sooner: nobody waits for the first look at what may go. */
  hurriedBy?: number;
  /**
   * From one SIGUSR2 to the next, milliseconds for which its event loop is held again and again, with a ninth of that
   * between.
   */
  busyMs?: number;
}

export interface Launch {
  config?: ServerConfig;
  faults?: LaunchFaults;
}

export interface ServerProgramOptions {
  state: string;
  /** 0 takes a free one. */
  port?: number;
  /** Where the store is; otherwise where those of all specifications are. */
  store?: string;
  leaseTtl?: number;
  heartbeatInterval?: number;
  workerDeadAfter?: number;
  maxArtifactMb?: number;
  maxRequestMb?: number;
  reserveMb?: number;
  /** Where they are given, the launcher is started instead of `bin/jq-server`. */
  faults?: LaunchFaults;
}

export interface ServerProgram extends Program {
  url: string;
}

/** Starts a server as a process; it may not listen yet. */
export function spawnServer(options: ServerProgramOptions): Program {
  const command = options.faults ? launcherCommand(options, options.faults) : programCommand(options);
  const [program, ...args] = command;
  return new Program(program as string, args);
}

/** Starts a server as a process and waits until it listens. */
export async function startServerProgram(options: ServerProgramOptions): Promise<ServerProgram> {
  const program = spawnServer(options);
  const { url } = await program.announced('listening').catch(async (fault) => {
    await program.kill();
    throw fault;
  });
  return Object.assign(program, { url: url as string });
}

function programCommand(options: ServerProgramOptions): string[] {
  const { leaseTtl, heartbeatInterval, workerDeadAfter, maxArtifactMb, maxRequestMb, reserveMb } = options;
  const flags = {
    '--port': options.port ?? 0,
    '--transport': TRANSPORT,
    '--state': options.state,
    '--store': options.store ?? storeOf(options.state),
    '--lease-ttl': leaseTtl,
    '--heartbeat-interval': heartbeatInterval,
    '--worker-dead-after': workerDeadAfter,
    '--max-artifact-mb': maxArtifactMb,
    '--max-request-mb': maxRequestMb,
    '--reserve-mb': reserveMb,
    '--log-level': 'error',
  };
  const given = Object.entries(flags).flatMap(([flag, value]) =>
    value === undefined ? [] : [flag, `${value}`],
  );
  return [process.execPath, `${ROOT}bin/jq-server`, ...given, '--json'];
}

function launcherCommand(options: ServerProgramOptions, faults: LaunchFaults): string[] {
  const config: ServerConfig = {
    host: '127.0.0.1',
    port: options.port ?? 0,
    transport: TRANSPORT,
    state: options.state,
    store: options.store ?? storeOf(options.state),
    principals: [],
    corsOrigins: [],
    allowPythonJobs: false,
    leaseTtl: options.leaseTtl ?? 60,
    heartbeatInterval: options.heartbeatInterval ?? 10,
    workerDeadAfter: options.workerDeadAfter ?? 45,
    maxRequestBytes: 16 * 1024 * 1024,
    maxArtifactBytes: (options.maxArtifactMb ?? 2048) * 1024 * 1024,
    serviceName: 'jq-cluster',
    headerPrefixes: [],
    logLevel: 'error',
  };
  const launch: Launch = { config, faults };
  return [process.execPath, '--import', 'tsx', LAUNCHER, JSON.stringify(launch)];
}
