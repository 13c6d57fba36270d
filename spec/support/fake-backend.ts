import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { Backend, BlobWriter, EventPage, Inspected, StoredArtifact } from '../../gateway/backend.ts';
import type { Message, MessageOf, MessageType, ReplyOf } from '../../gateway/messages.ts';
import { Metrics } from '../../gateway/metrics/metrics.ts';
import { ClusterError } from '../../machines/protocol/errors.ts';
import type { EventView } from '../../machines/schema/views.ts';
import { failing, piecesOf } from './views.ts';

/**
 * A cluster without a store, for what a real one cannot be made to do on demand: a write that waits, a read that
 * fails, a commit that is refused. Tests replace single members.
 */
export class FakeBackend implements Backend {
  readonly sent: Message[] = [];
  /** What `send` does; the default answers as if all went well. */
  onSend: (message: Message) => unknown = () => ({ ok: true });
  readonly blobs = new FakeBlobs();
  readonly events = new FakeEvents();
  readonly inspection = new FakeInspection();
  readonly metrics = new Metrics();
  state = 'serving';
  readonly artifacts = new Map<string, StoredArtifact>();
  readonly reads: Backend['reads'];

  constructor() {
    const unset = () => Promise.reject(new Error('not part of this test'));
    const unread = () => failing(new Error('not part of this test'));
    this.reads = {
      jobs: () => piecesOf([]),
      job: unread,
      stateCounts: async () => ({}),
      jobRequest: unread,
      tasks: unread,
      ranking: unread,
      jobArtifacts: unread,
      eventList: unread,
      stats: unset,
      statsHistory: unset,
      demand: unset,
      servers: unset,
      workers: () => piecesOf([]),
      worker: unread,
      actor: unset,
      assertTask: async () => {},
      events: (query) => this.events.read(query),
      eventIdBefore: (count) => this.events.idBefore(count),
      artifact: async (id) => {
        const found = this.artifacts.get(id);
        if (!found) throw ClusterError.unknown('artifact', id);
        return found;
      },
    };
  }

  async send<T extends MessageType>(message: MessageOf<T>): Promise<ReplyOf<T>> {
    this.sent.push(message as Message);
    const answer = await this.onSend(message as Message);
    // What `onSend` gives for a submission is the view of the job.
    return (message.type === 'submit_job' ? { job_id: 'job_1', view: answer } : answer) as ReplyOf<T>;
  }

  /** The messages of one type, in the order they came. */
  received<T extends MessageType>(type: T): MessageOf<T>[] {
    return this.sent.filter((message) => message.type === type) as unknown as MessageOf<T>[];
  }

  /** Stores bytes as an artifact under an id of the test's choice. */
  addArtifact(id: string, bytes: Buffer, filename: string | null = null): StoredArtifact {
    const sha256 = this.blobs.add(bytes);
    const artifact = { id, sha256, size_bytes: bytes.length, kind: 'input', filename };
    this.artifacts.set(id, artifact);
    return artifact;
  }
}

/** Blobs in memory, with gates for the test to hold. */
export class FakeBlobs {
  readonly stored = new Map<string, Buffer>();
  /** Writers that were neither finished nor aborted. */
  open = 0;
  /** Bytes that writers were given, whatever became of them. */
  written = 0;
  beforeWrite: (chunk: Uint8Array) => Promise<void> = async () => {};
  /** Streams that were opened for reading. */
  readonly readers: Readable[] = [];

  add(bytes: Buffer): string {
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    this.stored.set(sha256, bytes);
    return sha256;
  }

  async create(): Promise<BlobWriter> {
    const chunks: Buffer[] = [];
    let isOpen = true;
    this.open++;
    const close = () => {
      if (isOpen) this.open--;
      isOpen = false;
    };
    let unnamed: string | undefined;
    return {
      write: async (chunk) => {
        await this.beforeWrite(chunk);
        this.written += chunk.length;
        chunks.push(Buffer.from(chunk));
      },
      finish: async () => {
        close();
        const bytes = Buffer.concat(chunks);
        unnamed = this.add(bytes);
        return { sha256: unnamed, size_bytes: bytes.length };
      },
      keep: async () => {
        unnamed = undefined;
      },
      abort: async () => {
        close();
        if (unnamed !== undefined) this.stored.delete(unnamed);
      },
    };
  }

  async place(bytes: Uint8Array) {
    const sha256 = this.add(Buffer.from(bytes));
    return { sha256, size_bytes: bytes.byteLength, release: async () => {} };
  }

  async assertWhole(): Promise<void> {}

  async addressOf(): Promise<null> {
    return null;
  }

  async direct(): Promise<null> {
    return null;
  }

  read({ sha256 }: { sha256: string }, start: number, end: number): Readable {
    const bytes = this.stored.get(sha256)?.subarray(start, end + 1) ?? Buffer.alloc(0);
    const reader = Readable.from(slices(bytes), { objectMode: false, highWaterMark: 64 * 1024 });
    this.readers.push(reader);
    return reader;
  }
}

function* slices(bytes: Buffer): Generator<Buffer> {
  for (let from = 0; from < bytes.length; from += 64 * 1024) yield bytes.subarray(from, from + 64 * 1024);
}

/** Committed events; `commit` stores them, then tells the subscribers, as the supervisor does. */
export class FakeEvents {
  readonly all: EventView[] = [];
  readonly listeners = new Set<(events: EventView[]) => void>();
  lastId = 0;
  reading = 0;
  /** Awaited by each read after it has looked at the store, before it answers. */
  afterRead: () => Promise<void> = async () => {};

  async latest(): Promise<number> {
    return this.lastId;
  }

  subscribe(listener: (events: EventView[]) => void): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  commit(...drafts: Partial<EventView>[]): EventView[] {
    const events = this.store(...drafts);
    this.publish(events);
    return events;
  }

  /** Committed, but not told yet. */
  store(...drafts: Partial<EventView>[]): EventView[] {
    const events = drafts.map((draft, i) => eventOf({ id: this.all.length + i + 1, ...draft }));
    this.all.push(...events);
    return events;
  }

  publish(events: EventView[]): void {
    this.lastId = events.at(-1)?.id ?? this.lastId;
    for (const listener of this.listeners) listener(events);
  }

  async read(query: { job_id?: string; after_id: number; limit: number }): Promise<EventPage> {
    this.reading++;
    const inScope = (event: EventView) => query.job_id === undefined || event.job_id === query.job_id;
    if (query.job_id?.startsWith('job_unknown')) throw ClusterError.unknown('job', query.job_id);
    const page = this.all
      .filter((event) => event.id > query.after_id && inScope(event))
      .slice(0, query.limit);
    await this.afterRead();
    this.reading--;
    return { events: page, more: page.length === query.limit };
  }

  async idBefore(count: number): Promise<number> {
    return this.all.at(-count - 1)?.id ?? 0;
  }
}

type Watcher = (messages: readonly Inspected[]) => void;

/** What actors do, as the test says. */
export class FakeInspection {
  /** What a watcher is told first. */
  present: Inspected[] = [];
  readonly watchers = new Map<Watcher, string | undefined>();

  async watch(actorId: string | undefined, listener: Watcher): Promise<() => void> {
    if (actorId?.startsWith('job_unknown')) throw ClusterError.unknown('actor', actorId);
    this.watchers.set(listener, actorId);
    listener(this.present);
    return () => void this.watchers.delete(listener);
  }

  tell(...messages: Inspected[]): void {
    for (const listener of this.watchers.keys()) listener(messages);
  }
}

function eventOf(draft: Partial<EventView> & { id: number }): EventView {
  return {
    job_id: 'job_1',
    task_id: null,
    worker_id: null,
    ts: 1_700_000_000 + draft.id,
    level: 'info',
    type: 'log',
    message: `event ${draft.id}`,
    data: {},
    ...draft,
  };
}
