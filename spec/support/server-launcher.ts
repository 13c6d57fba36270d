// The server in a process of its own, put together as jq-server does it, with a store or a disk that has faults:
// `server-launcher.ts '{"config": {...}, "faults": {...}}'`.
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { StoreHooks } from '../../actors/server/store/store.ts';
import { type Clock, systemClock } from '../../actors/shared/clock.ts';
import { startServer } from '../../bin/programs/server.ts';
import type { ServerConfig } from '../../bin/programs/server-config.ts';
import type { Launch } from './server-program.ts';

const { config, faults } = JSON.parse(process.argv[2] ?? '{}') as Required<Launch>;

function storeFaults(): StoreHooks {
  let begun = 0;
  let done = 0;
  const die = () => process.kill(process.pid, 'SIGKILL');
  return {
    async beforeCommit() {
      if (++begun === faults.dieBeforeCommit) die();
      if (faults.slowMs !== undefined) await delay(faults.slowMs);
    },
    async afterCommit() {
      if (++done === faults.dieAfterCommit) die();
    },
  };
}

function dieAtRemoval(nth: number): void {
  const { rm } = fs;
  // What begins with a point is none.
  const objects = join(config?.state ?? '', 'objects', '/');
  const isObject = (path: string) => path.startsWith(objects) && path.charAt(objects.length) !== '.';
  let removed = 0;
  fs.rm = async (path, options) => {
    await rm(path, options);
    if (isObject(String(path)) && ++removed === nth) process.kill(process.pid, 'SIGKILL');
  };
  syncBuiltinESMExports();
}

let isBusy = false;

/** Holds the event loop for nine tenths of the time. */
function beBusy(ms: number): void {
  if (!isBusy) return;
  for (const end = performance.now() + ms; performance.now() < end; );
  setTimeout(beBusy, ms / 9, ms);
}

const { busyMs } = faults;
process.on('SIGUSR2', () => {
  isBusy = !isBusy;
  if (busyMs !== undefined) beBusy(busyMs);
});

if (faults.dieAtRemoval !== undefined) dieAtRemoval(faults.dieAtRemoval);
const { hurriedBy = 1 } = faults;
const clock: Clock = {
  ...systemClock,
  timer: (seconds, callback) => systemClock.timer(seconds / hurriedBy, callback),
};
const time = hurriedBy === 1 ? {} : { clock };
const server = await startServer({ ...(config as ServerConfig), ...time, hooks: storeFaults() });
console.log(JSON.stringify({ event: 'listening', url: server.url }));
process.once('SIGTERM', () => server.stop().then(() => process.exit(0)));
