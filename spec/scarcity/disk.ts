import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ClusterClient } from '../../gateway/client/client.ts';
import { ResponseError } from '../../gateway/client/errors.ts';
import { Comparison, strayBlobs } from '../crash/compare.ts';
import { Ledger } from '../crash/ledger.ts';
import { jobText } from '../crash/load.ts';
import { startServerProgram } from '../support/server-program.ts';
import type { SmallDisk } from '../support/small-disk.ts';
import { until } from '../support/until.ts';

export interface DiskFigures {
  rounds: number;
  acknowledged: number;
  refused: number;
}

/**
 * The disk of the state directory runs full and is given room again, `rounds` times, under one server: what it
 * cannot store it refuses with 503 or 507, what it answered stays, reads and heartbeats go on, and it works again
 * without a restart.
 */
export async function fullDisk(disk: SmallDisk, rounds: number): Promise<DiskFigures> {
  const state = join(disk.path, 'state');
  const server = await startServerProgram({ state, reserveMb: 0 });
  const client = new ClusterClient({ server: server.url });
  const story = new Story(disk, state, client);
  try {
    await story.begin();
    for (let round = 0; round < rounds; round++) await story.round(round);
    assert.deepEqual(await new Comparison(state, story.ledger).make(), []);
    assert.deepEqual(readdirSync(join(state, 'uploads')), []);
    assert.deepEqual(await strayBlobs(state), []);
    assert.equal((await server.terminate()).code, 0);
  } finally {
    await client.close();
    await server.kill();
  }
  return { rounds, acknowledged: story.ledger.size, refused: story.refused };
}

/** The status of a refusal; 200 when there was none. */
async function statusOf(request: Promise<unknown>): Promise<number> {
  try {
    await request;
    return 200;
  } catch (fault) {
    if (fault instanceof ResponseError) return fault.status;
    throw fault;
  }
}

class Story {
  readonly ledger = new Ledger();
  refused = 0;
  readonly #disk: SmallDisk;
  readonly #state: string;
  readonly #client: ClusterClient;
  #worker = '';

  constructor(disk: SmallDisk, state: string, client: ClusterClient) {
    this.#disk = disk;
    this.#state = state;
    this.#client = client;
  }

  async begin(): Promise<void> {
    const body = { version: { packages: { tick: '1' } } };
    this.#worker = (await this.#client.call('registerWorker', { body })).worker_id;
    this.ledger.add({ what: 'worker', id: this.#worker });
  }

  async round(round: number): Promise<void> {
    const held = await this.#running(`held-${round}`);
    await this.#uploadsMeetTheEnd(round);
    this.#disk.fill();
    await this.#writeUntilRefused(`round-${round}`);
    await this.#goesOn(held);

    // A result that is reported now waits for the disk rather than being lost with a worker that says it once.
    const token = `round ${round}`;
    const report = this.#client.call('completeTask', {
      ...this.#at(held),
      body: { status: 'succeeded', extra: { token: `held-${round}`, report: token } },
    });
    report.catch(() => {});
    this.#disk.clear();
    assert.deepEqual(await report, { ok: true });
    const { task_id: task, job_id: job, attempt } = held;
    this.ledger.add({ what: 'complete', task, job, attempt, worker: this.#worker, token });
    await until('a submission to be accepted', () => this.#submit(`after-${round}`));
    assert.equal(await this.#upload(100_000), 200, 'with room there are uploads again');
  }

  /** A job of which this worker holds the only task. */
  async #running(name: string) {
    const id = await this.#submit(name, 10);
    assert.ok(id, 'a disk with room takes a job');
    const { task } = await this.#client.call('lease', { params: { id: this.#worker }, body: {} });
    assert.ok(task?.job_id === id, 'the job of the highest priority is leased');
    await this.#client.call('startTask', this.#at(task));
    return task;
  }

  #at({ task_id, attempt }: { task_id: string; attempt: number }) {
    return { params: { id: task_id }, query: { worker_id: this.#worker, attempt } };
  }

  /** Uploads that do not fit are refused, and give back the room that they took. */
  async #uploadsMeetTheEnd(round: number): Promise<void> {
    this.#disk.fill(1_500_000);
    const before = this.#disk.free;
    const statuses = await Promise.all([this.#upload(4_000_000), this.#upload(3_000_000)]);
    assert.deepEqual(statuses, [507, 507], `round ${round}`);
    this.refused += 2;
    await until('the room to be given back', () => this.#disk.free >= before - 100_000);
    assert.deepEqual(readdirSync(join(this.#state, 'uploads')), []);
  }

  /** The log of the store has pages to write again, so a full disk is not felt at once. */
  async #writeUntilRefused(label: string): Promise<void> {
    for (let n = 0; n < 500; n++) {
      if ((await this.#submit(`${label}-${n}`)) !== null) continue;
      this.refused++;
      return;
    }
    assert.fail('a full disk refuses no submission');
  }

  /** Null when it was refused, as it may be: with 503 and a time to come back. */
  async #submit(name: string, priority = 0): Promise<string | null> {
    const text = `${jobText(name, 1, 50_000).slice(0, -1)},"priority":${priority}}`;
    this.ledger.submitted.add(name);
    try {
      const { id } = await this.#client.call('submitJob', { text });
      this.ledger.add({ what: 'job', name, id, text });
      return id;
    } catch (fault) {
      assert.ok(fault instanceof ResponseError, `an answer, not ${fault}`);
      assert.deepEqual([fault.status, fault.code], [503, 'store_unavailable']);
      assert.ok((fault.retryAfter ?? 0) > 0, 'it says when to come back');
      // Nothing was accepted, so the name may be used again.
      return null;
    }
  }

  async #goesOn(held: { task_id: string; job_id: string; attempt: number }): Promise<void> {
    const { client } = { client: this.#client };
    const active = [{ task_id: held.task_id, attempt: held.attempt }];
    const heard = await client.call('heartbeat', { params: { id: this.#worker }, body: { active } });
    assert.deepEqual(heard, { ok: true, cancel_task_ids: [] });
    const jobs = await client.call('listJobs', { query: { limit: 1000 } });
    assert.ok(
      jobs.some(({ id }) => id === held.job_id),
      'the list of jobs is there',
    );
    assert.equal((await client.call('getJob', { params: { id: held.job_id } })).status, 'running');
    assert.ok((await client.call('listJobEvents', { params: { id: held.job_id } })).length >= 4, 'events');
    await client.call('getStats');
    assert.equal(await this.#upload(200_000), 507);
    this.refused++;
  }

  async #upload(size: number): Promise<number> {
    const file = join(tmpdir(), `jq-upload-${randomBytes(8).toString('hex')}`);
    writeFileSync(file, randomBytes(size));
    try {
      return await statusOf(this.#client.upload('uploadArtifact', { file }));
    } finally {
      rmSync(file);
    }
  }
}
