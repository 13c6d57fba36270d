import { peerOf } from '../../machines/peers.ts';
import { LONGEST_BACKOFF } from '../../machines/task-failure.ts';
import { CHOICES, JOBS, REQUIREMENTS, TASKS, WORKERS } from '../store/tables.ts';
import type { Core } from './core.ts';
import { unheard } from './facts.ts';
import { FOR_GOOD } from './journal.ts';
import { armBackoffs, followDeadlines } from './passing.ts';
import { Pins } from './registry.ts';

/** Rows read at a time while the queue's index is rebuilt. */
const PAGE = 50_000;

/**
 * Replays the store into memory: workers that live or have tasks, held tasks with their jobs, the index of queued tasks, the counters.
 * Every lease and every worker gets a full period anew, for nobody could be heard while the server was away.
 */
export async function recover(core: Core): Promise<void> {
  const { store, registry, settings, tally, clock, hearing } = core;
  for (const row of await store.load(REQUIREMENTS, '1 ORDER BY id')) core.requirements.learn(row);
  const pins = new Pins();
  for (const row of await store.load(WORKERS, "status = 'alive' OR slots_used > 0 ORDER BY registered_at")) {
    const silentAt = row.status === 'alive' ? hearing.monotonic() + settings.workerDeadAfter : null;
    followDeadlines(core, [registry.addWorker(pins, row, true, { ...unheard(row.last_seen_at), silentAt })]);
  }
  registry.letGo(pins);
  await recoverHeld(core);
  await recoverQueue(core);
  await recoverSpecial(core);
  await recoverWishes(core);
  await recoverSequences(core);
  await recoverPeers(core);
  await tally.recover(store, clock.now());
}

async function recoverHeld(core: Core): Promise<void> {
  const { store, registry, settings, hearing } = core;
  const rows = await store.load(TASKS, "status IN ('leased', 'running') ORDER BY seq");
  const pins = new Pins();
  for (const row of rows) {
    const now = hearing.monotonic();
    const limit = row.status === 'running' ? row.timeout_seconds : null;
    const task = registry.addTask(pins, row, true, {
      leaseEndsAt: now + settings.leaseTtl,
      timesOutAt: limit === null ? null : now + limit + settings.timeoutGrace,
      lastSign: now,
    });
    registry.noteHolder(null, row);
    followDeadlines(core, [task]);
  }
  await registry.fetch(pins, { tasks: rows.map((row) => row.id) });
  registry.letGo(pins);
}

/** Each priority in one scan over an index that covers it, in pages so that memory stays flat. */
async function recoverQueue(core: Core): Promise<void> {
  const { reader } = core.store;
  const next = "SELECT MAX(priority) AS priority FROM tasks WHERE status = 'queued'";
  let found = await reader.get<{ priority: number | null }>(next);
  while (found && found.priority !== null) {
    await recoverPriority(core, found.priority);
    found = await reader.get<{ priority: number | null }>(`${next} AND priority < ?`, found.priority);
  }
}

async function recoverPriority({ store, queue }: Core, priority: number): Promise<void> {
  for (let after = 0, full = true; full; ) {
    // One text a page: a million rows of their own would take seconds to become objects.
    const page = await store.reader.get<{ entries: string | null }>(
      `SELECT group_concat(seq || ',' || requirement_id) AS entries FROM (
         SELECT seq, requirement_id FROM tasks
         WHERE status = 'queued' AND priority = ? AND seq > ? ORDER BY seq LIMIT ${PAGE})`,
      priority,
      after,
    );
    const entries = JSON.parse(`[${page?.entries ?? ''}]`) as number[];
    for (let i = 0; i < entries.length; i += 2) {
      after = entries[i] as number;
      queue.add(FOR_GOOD, entries[i + 1] as number, priority, after);
    }
    full = entries.length === 2 * PAGE;
  }
}

/** Which peers were noted, their events tell; the index of these events is small. */
async function recoverPeers({ store, peers }: Core): Promise<void> {
  const noted = await store.reader.all<{ role: string | null; version: string | null }[]>(
    `SELECT data ->> 'role' AS role, substr(data ->> 'version', 1, 100) AS version FROM events
     WHERE type = 'version_divergence' ORDER BY id LIMIT 1000`,
  );
  for (const { role, version } of noted) {
    const peer = peerOf(role ?? undefined, version ?? '');
    if (peer) peers.add(FOR_GOOD, peer);
  }
}

/** The few that wait after a failure, or that avoid workers. The others were read from an index that knows no more. */
async function recoverSpecial(core: Core): Promise<void> {
  const { store, queue, demands, backoffs, clock } = core;
  const special = "status = 'queued' AND (avoids IS NOT NULL OR not_before IS NOT NULL) ORDER BY seq";
  for (const { seq, requirement_id, priority, avoids, not_before } of await store.load(TASKS, special)) {
    queue.remove(FOR_GOOD, requirement_id, priority, seq);
    const key = demands.enter(FOR_GOOD, seq, { requirement: requirement_id, avoids, paths: [] });
    // Should the wall clock have been set back meanwhile, it waits no longer than any.
    const left = Math.min(LONGEST_BACKOFF, (not_before ?? 0) - clock.now());
    if (left > 0) backoffs.add(FOR_GOOD, { seq, at: clock.monotonic() + left, key, priority });
    else queue.add(FOR_GOOD, key, priority, seq);
  }
  armBackoffs(core);
}

/** What a person wished was being told to the tasks of these jobs, some of which were not reached. */
async function recoverWishes({ store, registry, wishes, queue }: Core): Promise<void> {
  const pins = new Pins();
  for (const row of await store.load(JOBS, "state IN ('requeuing', 'telling', 'reusing') ORDER BY seq")) {
    if (!registry.jobs.has(row.id)) registry.addJob(pins, row, true);
    const span = await registry.spanOf(row.id);
    queue.withhold(FOR_GOOD, span);
    const [choice] = row.state === 'requeuing' ? await store.load(CHOICES, 'job_id = ?', row.id) : [];
    wishes.set(FOR_GOOD, row.id, { span, chosen: choice?.chosen ?? null });
  }
  registry.letGo(pins);
}

async function recoverSequences({ store, sequences }: Core): Promise<void> {
  const largest = await store.reader.get<Record<'job' | 'task' | 'event' | 'created', number | null>>(
    `SELECT (SELECT MAX(seq) FROM jobs) AS job,
            max(ifnull((SELECT MAX(seq) FROM tasks), 0),
                ifnull((SELECT MAX(last_seq) FROM jobs WHERE last_seq IS NOT NULL), 0)) AS task,
            (SELECT MAX(id) FROM events) AS event, (SELECT MAX(created_at) FROM jobs) AS created`,
  );
  sequences.job = (largest?.job ?? 0) + 1;
  sequences.task = (largest?.task ?? 0) + 1;
  sequences.event = (largest?.event ?? 0) + 1;
  sequences.lastCreatedAt = largest?.created ?? 0;
}
