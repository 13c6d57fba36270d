import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import WebSocket from 'ws';
import { ClusterClient } from '../../gateway/client/client.ts';
import { jobText } from '../crash/load.ts';
import { forgetPeak, memoryOf } from '../support/program.ts';
import { startServerProgram } from '../support/server-program.ts';
import { until } from '../support/until.ts';

export interface StreamOptions {
  state: string;
  /** Half of them stall for good, half read a little now and then. */
  streams: number;
  seconds: number;
}

export interface StreamFigures {
  streams: number;
  events: number;
  /** Bytes by which the server's memory grew, at its highest, over what the same events cost without streams. */
  grown: number;
  /** Streams that the server gave up, and that resumed. */
  closed: number;
  gaps: number;
  /** Seconds until all had everything, once they read again. */
  resumed: number;
}

/** Milliseconds without a frame or a ping after which a follower that reads takes its connection for lost. */
const SILENCE_MS = 75_000;

/** A follower that is slow: it reads only when it is told to, and resumes behind the last event that it saw. */
class SlowFollower {
  readonly #url: string;
  #socket: WebSocket | null = null;
  #open = false;
  #last: number;
  #paused = true;
  #heard = 0;
  closed = 0;
  gaps = 0;

  constructor(url: string, afterId: number) {
    this.#url = `${url.replace('http', 'ws')}/v1/events/stream`;
    this.#last = afterId;
  }

  get last(): number {
    return this.#last;
  }

  get open(): boolean {
    return this.#open;
  }

  connect(): void {
    const socket = new WebSocket(`${this.#url}?after_id=${this.#last}`, { perMessageDeflate: false });
    this.#socket = socket;
    socket.on('error', () => {});
    // Under memory pressure the system may drop a connection without a word to this side.
    const silence = setInterval(() => {
      if (!this.#paused && performance.now() - this.#heard > SILENCE_MS) socket.terminate();
    }, 1000);
    this.#heard = performance.now();
    socket.on('ping', () => {
      this.#heard = performance.now();
    });
    socket.on('open', () => {
      this.#open = true;
      if (this.#paused) socket.pause();
    });
    socket.on('message', (data) => this.#take(data as Buffer));
    socket.on('close', () => {
      clearInterval(silence);
      this.#open = false;
      if (this.#socket === null) return;
      this.closed++;
      this.connect();
    });
  }

  read(going: boolean): void {
    if (going && this.#paused) this.#heard = performance.now();
    this.#paused = !going;
    if (!this.#open) return;
    if (going) this.#socket?.resume();
    else this.#socket?.pause();
  }

  end(): void {
    const socket = this.#socket;
    this.#socket = null;
    socket?.terminate();
  }

  #take(frame: Buffer): void {
    // Only the number, at the front: there are many large frames.
    const id = Number(/^\{"id":(\d+),/.exec(frame.toString('latin1', 0, 40))?.[1]);
    this.#heard = performance.now();
    if (id !== this.#last + 1) this.gaps++;
    this.#last = id;
  }
}

/**
 * Many streams whose clients hardly read, or do not read at all, while events of 16 kB are committed. The server's
 * memory stays what it is, and afterwards everybody gets every event once.
 */
export async function slowStreams({ state, streams, seconds }: StreamOptions): Promise<StreamFigures> {
  const server = await startServerProgram({ state });
  const client = new ClusterClient({ server: server.url });
  const followers: SlowFollower[] = [];
  try {
    const tell = await teller(client);
    // What the same events cost when nobody listens: the heap grows to its working size.
    await tell(BURST);
    const from = await lastId(client);
    const before = memoryOf(server.pid).peak;

    for (let i = 0; i < streams; i++) followers.push(new SlowFollower(server.url, from));
    for (const follower of followers) follower.connect();
    await until('all streams to be open', () => followers.every(({ open }) => open), 60);
    forgetPeak(server.pid);
    const sipping = sip(
      followers.filter((_, i) => i % 2 === 0),
      seconds,
    );
    const events = await tell(seconds);
    await sipping;
    const grown = memoryOf(server.pid).peak - before;

    const last = await lastId(client);
    const since = performance.now();
    for (const follower of followers) follower.read(true);
    await until('everybody to have every event', () => followers.every((f) => f.last >= last), 600);
    const resumed = Math.round((performance.now() - since) / 1000);
    const sum = (of: (follower: SlowFollower) => number) => followers.reduce((all, f) => all + of(f), 0);
    return { streams, events, grown, closed: sum((f) => f.closed), gaps: sum((f) => f.gaps), resumed };
  } finally {
    for (const follower of followers) follower.end();
    await client.close();
    await server.kill();
  }
}

/** Seconds in which more is told than the buffers of all systems on the way can hold. */
const BURST = 4;
/** Seconds between two reports. */
const TICK = 0.1;

/** Reports log events of 16 kB: at first 100 a second, then 10; tells how many. */
async function teller(client: ClusterClient) {
  await client.call('submitJob', { text: jobText('told', 1) });
  const body = { version: { packages: { tick: '1' } } };
  const { worker_id } = await client.call('registerWorker', { body });
  const { task } = await client.call('lease', { params: { id: worker_id }, body: {} });
  assert.ok(task, 'there is a task to tell of');
  const at = { params: { id: task.task_id }, query: { worker_id, attempt: task.attempt } };
  await client.call('startTask', at);
  const event = { type: 'log', message: 'y'.repeat(16 * 1024) };
  return async (seconds: number): Promise<number> => {
    let told = 0;
    for (let tick = 0; tick * TICK < seconds; tick++) {
      const events = Array.from({ length: tick * TICK < BURST ? 10 : 1 }, () => event);
      await client.call('reportEvents', { ...at, body: { events } });
      told += events.length;
      if (tick % 20 === 0) await client.call('heartbeat', { params: { id: worker_id }, body: {} });
      await delay(TICK * 1000);
    }
    return told;
  };
}

async function sip(followers: SlowFollower[], seconds: number): Promise<void> {
  const end = performance.now() + seconds * 1000;
  for (let next = 0; performance.now() < end; next++) {
    const follower = followers[next % followers.length] as SlowFollower;
    follower.read(true);
    await delay(5);
    follower.read(false);
  }
}

async function lastId(client: ClusterClient): Promise<number> {
  const [job] = await client.call('listJobs', { query: { limit: 1 } });
  assert.ok(job, 'there is a job');
  const query = { before_id: Number.MAX_SAFE_INTEGER, limit: 1 };
  const [event] = await client.call('listJobEvents', { params: { id: job.id }, query });
  return event?.id ?? 0;
}
