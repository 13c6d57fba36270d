import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pino';
import { EngineError } from '../../actors/fleet/engine.ts';
import { FleetKeeper, type Round } from '../../actors/fleet/fleet.ts';
import { LocalEngine } from '../../actors/fleet/local-engine.ts';
import { SlurmEngine } from '../../actors/fleet/slurm-engine.ts';
import { systemClock } from '../../actors/shared/clock.ts';
import { acquireLock } from '../../actors/shared/lock.ts';
import { mljsRunner } from '../../actors/worker/runners/mljs/index.ts';
import type { ClusterClient } from '../../gateway/client/client.ts';
import { InvalidResponseError, ResponseError, UnreachableError } from '../../gateway/client/errors.ts';
import type { Fleet } from '../../machines/fleet/file.ts';
import type { Running } from '../cli/serve.ts';

export interface FleetConfig {
  fleet: Fleet;
  client: ClusterClient;
  /** What its workers are told of the server, by flags of `jq-worker`. */
  workerFlags: readonly string[];
  log: Logger;
}

/** How `jq-worker` of this installation is started. */
export const WORKER = [process.execPath, fileURLToPath(new URL('../jq-worker', import.meta.url))];

/** What keeps a fleet, without keeping it yet. */
export function openFleet({ fleet, client, workerFlags, log }: FleetConfig): Promise<FleetKeeper> {
  const start = { fleet, command: WORKER, flags: workerFlags };
  return FleetKeeper.open({
    ...{ fleet, client, log, clock: systemClock, brought: { packages: mljsRunner.packages } },
    engines: { local: new LocalEngine(start, systemClock.now), slurm: new SlurmEngine(start) },
  });
}

/**
 * Keeps a fleet until it is stopped. Resolves after the first look.
 * @param keeps whether its allocations stay at its end
 * @throws StartError where another program keeps it; `ResponseError` when the server refuses
 */
export async function startFleet(
  config: FleetConfig,
  { keeps }: { keeps: boolean },
): Promise<Required<Pick<Running, 'stop' | 'ended'>>> {
  const { fleet, log } = config;
  const lock = await acquireLock(join(fleet.state, 'fleet.lock'), '`state` of its file');
  try {
    const keeper = await openFleet(config);
    const ending = new AbortController();
    const wait = (signal?: AbortSignal) =>
      delay(fleet.interval * 1000, undefined, signal === undefined ? {} : { signal }).catch(() => {});
    const outage = new Outage(log);
    await roundOf(keeper, outage, true);
    const rounds = async () => {
      for (await wait(ending.signal); !ending.signal.aborted; await wait(ending.signal))
        await roundOf(keeper, outage, false);
    };
    const ended = rounds().then(async () => {
      if (keeps) log.info('its allocations go on');
      else await endAll(keeper, log, wait);
      await lock.release();
    });
    ended.catch(() => {});
    return {
      ended,
      stop() {
        ending.abort();
        return ended;
      },
    };
  } catch (error) {
    await lock.release();
    throw error;
  }
}

/** Whether another program keeps this fleet at present. */
export async function isKept({ state }: Fleet): Promise<boolean> {
  try {
    await (await acquireLock(join(state, 'fleet.lock'))).release();
    return false;
  } catch (error) {
    if ((error as { code?: string }).code === 'state_in_use') return true;
    throw error;
  }
}

/** A server that is away changes nothing; one that refuses a program at its start has it end. */
async function roundOf(keeper: FleetKeeper, outage: Outage, isFirst: boolean): Promise<Round | null> {
  try {
    const round = await keeper.round();
    outage.answered();
    return round;
  } catch (error) {
    const isAway = error instanceof UnreachableError || error instanceof InvalidResponseError;
    const isRefused = error instanceof ResponseError;
    if (!isAway && !isRefused) throw error;
    if (isFirst && isRefused && error.status < 500) throw error;
    outage.failed(error.message);
    return null;
  }
}

/** Says once that the server is away, and that it is back. */
class Outage {
  readonly #log: Logger;
  #said = false;

  constructor(log: Logger) {
    this.#log = log;
  }

  answered(): void {
    if (this.#said) this.#log.info('the server answers again');
    this.#said = false;
  }

  failed(why: string): void {
    if (!this.#said) this.#log.warn(`nothing is changed while the server cannot be asked: ${why}`);
    this.#said = true;
  }
}

/** Until nothing is left; workers finish what they run. */
async function endAll(keeper: FleetKeeper, log: Logger, wait: () => Promise<void>): Promise<void> {
  let said = -1;
  for (;;) {
    try {
      const left = await keeper.end();
      if (left === 0) return;
      if (left !== said) log.info({ left }, 'waits for its workers, which finish what they run');
      said = left;
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      log.warn(error.message);
    }
    await wait();
  }
}
