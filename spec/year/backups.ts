import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../support/until.ts';
import { restoreNewest } from './restores.ts';
import type { World } from './world.ts';

/** Seconds in which a backup is made, however busy the machine is. */
const PATIENCE = 600;

/** The backups that the server makes by itself: each ends on the day on which it began. */
export class Backups {
  readonly #world: World;
  /** Whether the next one is to be restored. */
  isRestoreDue = false;
  /** Whether the server is killed in the middle of the next one. */
  killsServer = false;
  /** When one is made next, as the server said in one of its lives. */
  #next = { at: 0, life: 0 };

  constructor(world: World) {
    this.#world = world;
  }

  /** Waits for the one that is due, if there is one. */
  async awaitOne(): Promise<void> {
    const world = this.#world;
    const { at, life } = this.#next;
    if (at > world.now && life === world.lives) return;
    if (await this.#ended()) return;
    if (this.killsServer) {
      this.killsServer = false;
      const begun = () => existsSync(join(world.backups, 'unfinished'));
      await until('it to begin', async () => begun() || (await this.#ended()), PATIENCE);
      await world.kill();
    }
    const after = await until('the backup to be made', () => this.#ended(), PATIENCE);
    // One that was broken off together with the server keeps the folder for a while; it is tried again.
    if (after.failure) return;
    world.counts.backups++;
    if (!this.isRestoreDue) return;
    this.isRestoreDue = false;
    await restoreNewest(world);
  }

  async restoreOneMore(): Promise<void> {
    const { next_at } = await this.#view();
    this.isRestoreDue = true;
    await this.#world.advance(next_at + 1);
    await this.awaitOne();
  }

  async #ended() {
    const world = this.#world;
    const view = await this.#view();
    this.#next = { at: view.next_at, life: world.lives };
    return !view.running && view.next_at > world.now && view;
  }

  async #view() {
    const viewer = this.#world.doors.of('viewer');
    const { backups } = await this.#world.insist(() => viewer.call('getStats'));
    if (!backups) throw new Error('the server makes no backups');
    return backups;
  }
}
