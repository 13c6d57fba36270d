import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createInspector, type StatelyInspectionEvent } from '@statelyai/inspect';
import { createActor, createMachine } from 'xstate';
import { Inspection } from '../../actors/server/runtime/inspection.ts';
import { machineJson } from '../../machines/charts/config.ts';
import type { InspectionMessage } from '../../machines/schema/inspection.ts';
import { taskMachine } from '../../machines/task/task.ts';
import { workerMachine } from '../../machines/worker/worker.ts';
import { atWork, job, TestCluster, withJob, withWorker } from '../support/cluster.ts';
import { holdCommits } from '../support/hold-commits.ts';
import { until } from '../support/until.ts';

/** A watcher that keeps every message it gets. */
async function watch(cluster: TestCluster, actorId?: string) {
  const messages: InspectionMessage[] = [];
  const stop = await cluster.port.inspection.watch(actorId, (told) => {
    for (const { text } of told) messages.push(JSON.parse(text));
  });
  return { messages, stop, story: () => messages.map(line) };
}

/** `@actor task_1 queued`, `supervisor → task_1 LEASE`, `task_1 leased`, with kinds for ids. */
function line(message: InspectionMessage): string {
  const who = (id: string) => id.replace(/_.*/, '');
  const id = who(message.sessionId);
  if (message.type === '@xstate.event') return `${who(message.sourceId)} → ${id} ${message.event.type}`;
  const { value } = message.snapshot;
  const state =
    typeof value === 'string'
      ? value
      : Object.entries(value as object)
          .flat()
          .join('.');
  return `${message.type === '@xstate.actor' ? '@actor ' : ''}${id} ${state}`;
}

describe('a watcher of all actors', () => {
  it('gets first the actors that are active, then each event with its source and what it led to', async (t) => {
    const cluster = await TestCluster.start(t);
    await cluster.register();
    const { story } = await watch(cluster);
    assert.deepEqual(story(), ['@actor supervisor serving', '@actor worker alive.idle']);
    await cluster.submit();
    assert.deepEqual(story().slice(2), ['@actor job queued.ready']);
  });

  it('sees a task from its lease to its end, with the sender and the receiver of each event', async (t) => {
    const { cluster, worker } = await withWorker(t);
    const { messages, story } = await watch(cluster);
    await cluster.submit();
    messages.length = 0;
    const task = await worker.run();
    await worker.complete(task);
    assert.deepEqual(story(), [
      '@actor task queued',
      'supervisor → task LEASE',
      'task leased',
      'task → worker TASK_TAKEN',
      'worker alive.full',
      'task → job TASK_LEASED',
      'job running.computing',
      'supervisor → task START',
      'task running.executing',
      'task → job TASK_STARTED',
      'job running.computing',
      'supervisor → task COMPLETE',
      'task succeeded',
      'task → job TASK_SUCCEEDED',
      'job succeeded',
      'task → worker TASK_RELEASED',
      'worker alive.idle',
    ]);
    const last = messages.filter(({ sessionId }) => sessionId.startsWith('task')).at(-1);
    assert.equal(last?.type === '@xstate.snapshot' && last.snapshot.status, 'done');
  });

  it('gets nothing before the commit', async (t) => {
    const cluster = await TestCluster.start(t);
    const { messages, story } = await watch(cluster);
    messages.length = 0;
    let atCommit: string[] | undefined;
    cluster.faults.afterCommit = async () => {
      atCommit = story();
    };
    await cluster.submit();
    assert.deepEqual(atCommit, []);
    assert.deepEqual(story(), ['@actor job queued.ready']);
  });

  it('gets nothing of a turn that was rolled back, but sees the supervisor become degraded', async (t) => {
    const cluster = await TestCluster.start(t);
    await cluster.register();
    const { messages, story } = await watch(cluster);
    messages.length = 0;
    cluster.fillDisk();
    await assert.rejects(cluster.submit());
    assert.deepEqual(story(), ['supervisor → supervisor COMMIT_FAILED', 'supervisor degraded']);
    const late = await watch(cluster);
    assert.deepEqual(late.story(), ['@actor supervisor degraded', '@actor worker alive.idle']);
    cluster.freeDisk();
    await cluster.submit();
    assert.deepEqual(late.story().slice(2), [
      'supervisor → supervisor COMMITTED',
      'supervisor serving',
      '@actor job queued.ready',
    ]);
  });

  it('begins between two turns: what a turn under way did is in its first messages, never lost', async (t) => {
    const { cluster, worker } = await withJob(t);
    const hold = holdCommits(cluster, 'beforeCommit');
    const running = worker.run();
    await hold.first;
    const watching = watch(cluster);
    hold.release();
    const { story } = await watching;
    await running;
    assert.ok(story().includes('@actor task leased'));
    assert.deepEqual(story().slice(-4), [
      'supervisor → task START',
      'task running.executing',
      'task → job TASK_STARTED',
      'job running.computing',
    ]);
  });

  it('sees an event that the state does not take, with an unchanged snapshot', async (t) => {
    const cluster = await TestCluster.start(t);
    const { id } = await cluster.submit();
    await cluster.cancel(id);
    const { messages, story } = await watch(cluster, id);
    messages.length = 0;
    await assert.rejects(cluster.retry(id), { code: 'illegal_transition' });
    assert.deepEqual(story(), ['supervisor → job RETRY', 'job cancelled']);
  });

  it('is told once that an actor exists, however often it is activated', async (t) => {
    const { cluster, worker } = await withWorker(t);
    const { story } = await watch(cluster);
    await cluster.submit();
    await worker.fail(await worker.run());
    await worker.fail(await worker.run());
    const announced = story().filter((text) => text.startsWith('@actor'));
    assert.deepEqual(announced, [
      '@actor supervisor serving',
      '@actor worker alive.idle',
      '@actor job queued.ready',
      '@actor task queued',
    ]);
  });
});

describe('a watcher of one actor', () => {
  it('gets nothing of other actors', async (t) => {
    const { cluster, id, worker } = await withJob(t);
    const { messages, story } = await watch(cluster, id);
    await cluster.submit();
    await worker.complete(await worker.run());
    assert.ok(messages.every(({ sessionId }) => sessionId === id));
    assert.deepEqual(story().slice(0, 1), ['@actor job queued.ready']);
    assert.deepEqual(story().slice(-1), ['job succeeded']);
  });

  it('gets the state of the actor even when it is passivated, and does not activate it', async (t) => {
    const { cluster, id, worker, task } = await atWork(t);
    await worker.complete(task, { extra: { note: 'x' } });
    for (const [actor, state] of [
      [id, 'job succeeded'],
      [task.task_id, 'task succeeded'],
      [worker.id, 'worker alive.idle'],
      ['supervisor', 'supervisor serving'],
    ] as const) {
      assert.deepEqual((await watch(cluster, actor)).story(), [`@actor ${state}`]);
    }
    assert.deepEqual((await watch(cluster)).story(), [
      '@actor supervisor serving',
      '@actor worker alive.idle',
    ]);
  });

  it('is refused when there is no such actor', async (t) => {
    const cluster = await TestCluster.start(t);
    await assert.rejects(watch(cluster, 'job_nobody'), { code: 'unknown_id' });
  });
});

describe('inspection', () => {
  it('costs nothing while nobody watches', () => {
    const inspection = new Inspection();
    assert.equal(inspection.begin(1), null);
    const stop = inspection.watch(undefined, () => {}, [], 1);
    assert.notEqual(inspection.begin(1), null);
    stop();
    stop();
    assert.equal(inspection.begin(1), null);
  });

  it('collects only the actors that somebody watches, and makes text only for a watcher that takes it', () => {
    const inspection = new Inspection();
    const taken: { text: string }[] = [];
    inspection.watch('task_1', (messages) => taken.push(...messages), [], 1);
    const actor = createActor(createMachine({ context: { reads: 0 } })).start();
    let made = 0;
    const snapshot = Object.assign(Object.create(actor.getSnapshot()), {
      toJSON: () => {
        made++;
        return { status: 'active' };
      },
    });
    const machine = workerMachine;
    const recording = inspection.begin(1);
    for (const id of ['task_1', 'task_2']) recording?.event({ id, machine, snapshot }, { type: 'X' }, 's');
    assert.equal(recording?.messages.length, 2);
    if (recording) inspection.publish(recording);
    assert.deepEqual([taken.length, made], [2, 0]);
    for (const message of [...taken, ...taken]) assert.ok(message.text.includes('task_1'));
    assert.equal(made, 1);
  });

  it('cuts long texts, but not a definition', async (t) => {
    const { cluster, worker, task } = await atWork(t, job({ retry: { max_attempts: 1 } }));
    const { messages } = await watch(cluster, task.task_id);
    await worker.fail(task, { error: 'e'.repeat(10_000) });
    const [actor, event] = messages;
    assert.ok(actor?.type === '@xstate.actor' && event?.type === '@xstate.event');
    assert.deepEqual(JSON.parse(actor.definition), machineJson(taskMachine));
    assert.equal((event.event as { error?: string }).error, `${'e'.repeat(2000)}… (8000 more characters)`);
    assert.ok(messages.slice(1).every((message) => JSON.stringify(message).length < 10_000));
  });

  it("has exactly the members of the messages of Stately's own inspector", async (t) => {
    const theirs: StatelyInspectionEvent[] = [];
    const { inspect } = createInspector({ send: (event) => theirs.push(event) });
    const context = {
      ...{ id: 'worker_1', slots_total: 1, slots_used: 0 },
      ...{ suspended: null, leaving: null, drained: null },
    };
    createActor(workerMachine, { id: 'worker_1', input: context, inspect })
      .start()
      .send({ type: 'TASK_TAKEN' });
    await until('their messages', () => theirs.length >= 5);

    const { cluster, worker } = await withWorker(t);
    const { messages } = await watch(cluster, worker.id);
    await cluster.submit();
    await worker.lease();
    for (const type of ['@xstate.actor', '@xstate.event', '@xstate.snapshot'] as const) {
      const [their, our] = [theirs, messages].map((all) => all.findLast((message) => message.type === type));
      assert.ok(their && our, type);
      assert.equal(our._version, their._version, 'the format may have changed with its version');
      // A root has no parent, and nobody sends it its first event; JSON leaves such members out.
      const optional = ['parentId', 'sourceId'];
      const shape = (message: object) =>
        Object.entries(message).flatMap(([key, value]) =>
          optional.includes(key) ? [] : `${key}: ${value === null ? null : typeof value}`,
        );
      assert.deepEqual(shape(our).sort(), shape(their).sort(), type);
      if (!('snapshot' in their) || !('snapshot' in our)) continue;
      const members = (snapshot: object) => Object.keys(JSON.parse(JSON.stringify(snapshot))).sort();
      assert.deepEqual(members(our.snapshot), members(their.snapshot as object), type);
    }
  });
});
