import { resolve } from 'node:path';
import type { Logger } from 'pino';
import { ENDLESS } from '../../machines/agent/notice.ts';
import type { Ending } from '../../machines/agent/types.ts';
import { cacheFolder } from './attempt/paths.ts';
import { LIMITS, type ZipLimits } from './inputs/zip.ts';
import type { BackoffLimits } from './link/backoff.ts';
import type { MetricsAddress } from './metrics/metrics-server.ts';

/** A library that this worker can run, and how (docs/runners.md#the-protocol). */
export interface Runner {
  /** The `<lib>` of job type `<lib>.run`, and of `<lib>.predict` where it predicts. */
  library: string;
  /** Program and arguments; the four options of the runner protocol are appended. */
  command: readonly string[];
  /** Whether the command, with `--serve` after it, is a warm host (docs/runners.md#warm). */
  serves?: boolean | undefined;
  /** Whether it predicts with a model, too (docs/runners.md#predicting). */
  predicts?: boolean | undefined;
  /** What the runner brings, declared at registration: package name to version. */
  packages: Readonly<Record<string, string>>;
  /** A command that prints something and ends with exit code 0 where the runner can be loaded with all that it needs. */
  check?: readonly string[] | undefined;
}

/** What a worker program is started with. */
export interface WorkerConfig {
  /** Base address of the server. */
  server: string;
  token?: string | undefined;
  /** Certificates in PEM that vouch for the server; default: those that Node.js knows. */
  ca?: string | undefined;
  /** State directory: the worker's id, one directory per task, results that are not delivered yet. */
  state: string;
  /** Tasks at the same time. */
  slots: number;
  /** Name in lists; default the host name. */
  name?: string | undefined;
  labels?: Readonly<Record<string, string>> | undefined;
  /** GiB to declare; default what the machine has. */
  memoryGb?: number | undefined;
  /** GPUs to declare; default what nvidia-smi lists. */
  gpus?: number | undefined;
  /** Start each attempt as a new program, also where its runner can be kept warm. */
  cold?: boolean | undefined;
  /** Run python_entrypoint pipelines. */
  allowPython?: boolean | undefined;
  /** Datasets that only this worker has, by name; each is declared as label `dataset.NAME=true`. */
  datasets?: Readonly<Record<string, string>> | undefined;
  /** File or address of the index of catalog datasets (see `inputs/catalog/index-list.ts`). */
  catalog?: string | undefined;
  /** Where inputs are kept; workers of one machine may share it. Default in the state directory. */
  cacheDir?: string | undefined;
  /** GiB that inputs may take; the least recently used go first. 0: none stays longer than it is used. Default 20. */
  cacheGb?: number | undefined;
  /** Where it serves its metrics; absent: nowhere. */
  metricsAt?: MetricsAddress | undefined;
  runners: readonly Runner[];
  /** The interpreter of `--python`: declared, beside what the runners bring. */
  python?: { version: string; packages: Readonly<Record<string, string>> } | undefined;
  log: Logger;
  /** Seconds between SIGTERM and SIGKILL. Default 5. */
  graceSeconds?: number | undefined;
  /**
   * Seconds in which what runs may finish once the program is told to end; then it is given back. Default: as long as it
   * takes.
   */
  noticeSeconds?: number | undefined;
  /** When the machine is taken away; seconds since the epoch. Default: never. */
  endsAt?: number | undefined;
  /** Seconds before that in which it takes no more tasks. Default 60. */
  drainSeconds?: number | undefined;
  /** Seconds that a lease request waits for work. Default 20. */
  leaseWaitSeconds?: number | undefined;
  /** Seconds that a stopping worker still tries to deliver its last results. Default 10. */
  deliverySeconds?: number | undefined;
  /** Seconds after which it ends, should it have nothing to do. Absent: never. */
  idleExitSeconds?: number | undefined;
  /** Bytes of output that the log file of a task takes at most. Default 64 MiB. */
  maxLogBytes?: number | undefined;
  zipLimits?: ZipLimits | undefined;
  backoff?: Partial<BackoffLimits> | undefined;
  /** Milliseconds before a suspended worker looks at itself: at first, doubled each time, and at most. */
  recovery?: Pick<BackoffLimits, 'baseMs' | 'maxMs'> | undefined;
  /** Between 0 and 1, for jitter. Default `Math.random`. */
  random?: (() => number) | undefined;
}

/** The configuration with its defaults filled in. */
export type Settings = ReturnType<typeof settingsOf>;

/**
 * Seconds before its end in which a worker gives back what still runs: the processes are told to end and are killed, logs
 * are kept, and the server hears of it.
 */
const OWN_SECONDS = 20;

export function settingsOf(config: WorkerConfig) {
  const { endsAt, drainSeconds = 60 } = config;
  const ending: Ending = {
    ...ENDLESS,
    noticeSeconds: config.noticeSeconds ?? null,
    idleSeconds: config.idleExitSeconds ?? null,
  };
  if (endsAt !== undefined) {
    ending.drainsAt = endsAt - drainSeconds;
    ending.givesBackAt = endsAt - Math.min(drainSeconds, OWN_SECONDS);
  }
  return {
    ...config,
    labels: config.labels ?? {},
    allowPython: config.allowPython ?? false,
    cold: config.cold ?? false,
    datasets: config.datasets ?? {},
    cacheDir: resolve(config.cacheDir ?? cacheFolder(config.state)),
    cacheGb: config.cacheGb ?? 20,
    ending,
    graceSeconds: config.graceSeconds ?? 5,
    leaseWaitSeconds: config.leaseWaitSeconds ?? 20,
    deliverySeconds: config.deliverySeconds ?? 10,
    maxLogBytes: config.maxLogBytes ?? 64 * 1024 * 1024,
    zipLimits: config.zipLimits ?? LIMITS,
    backoff: { baseMs: 250, maxMs: 10_000, slowMs: 30_000, ...config.backoff },
    recovery: config.recovery ?? { baseMs: 5_000, maxMs: 300_000 },
    random: config.random ?? Math.random,
  };
}
