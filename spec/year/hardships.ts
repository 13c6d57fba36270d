import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ClusterClient } from '../../gateway/client/client.ts';
import { ResponseError } from '../../gateway/client/errors.ts';
import { must } from '../history/history.ts';
import type { SmallDisk } from '../support/small-disk.ts';
import { until } from '../support/until.ts';
import { HOUR } from './calendar.ts';
import type { Fleet } from './fleet.ts';
import type { People } from './people.ts';
import type { World } from './world.ts';

/** Seconds in which everybody is answered, however busy the machine is. */
const PATIENCE = 600;

/** Two get a new token; that of before is valid beside it for an hour, and then refused. */
export async function rotate(world: World, fleet: Fleet): Promise<void> {
  const { doors, home, now, counts } = world;
  const before = [await doors.rotate('lab', home, now), await doors.rotate('ann', home, now)];
  await world.tell({ do: 'reload' });
  const ask = (client: ClusterClient) => world.insist(() => client.call('getStats'));
  for (const client of [...before, doors.of('lab'), doors.of('ann')]) await ask(client);
  await fleet.step();
  // The program that made the new one took some of the time.
  await world.advance(now + 1.5 * HOUR);
  for (const client of before) {
    const refusal = await ask(client).catch((fault: unknown) => fault);
    const isRefused = refusal instanceof ResponseError && refusal.status === 401;
    must(isRefused, `a token of before is valid after its end: ${refusal}`);
    await client.close();
  }
  counts.rotations++;
}

/** Nothing more fits on the server's disk for a quarter of an hour; then somebody makes room. */
export async function fillDisk(world: World, disk: SmallDisk, people: People, fleet: Fleet): Promise<void> {
  const file = join(world.options.folder, 'input.csv');
  await writeFile(file, '1;2;3\n'.repeat(100_000));
  disk.fill();
  must(!(await people.upload(file)), 'the disk is full, and an upload was taken');
  await whileTimePasses(
    world,
    people.submit(3).then(() => fleet.step()),
    HOUR / 4,
  );
  disk.clear();
  await world.advance(world.now + 60);
  must(await people.upload(file), 'there is room, and an upload is refused');
  world.counts.fullDisks++;
}

/** What waits for the server's own limits of time needs some. */
async function whileTimePasses(world: World, work: Promise<void>, most: number): Promise<void> {
  let over = false;
  const done = work.finally(() => {
    over = true;
  });
  done.catch(() => {});
  const end = world.now + most;
  while (world.now < end) await world.advance(world.now + 10);
  await until(
    'what was asked to be answered',
    async () => {
      if (!over) await world.advance(world.now + 10);
      return over;
    },
    PATIENCE,
  );
  await done;
}
