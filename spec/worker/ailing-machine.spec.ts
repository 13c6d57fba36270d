import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Outcome } from '../../machines/attempt/attempt.ts';
import { until } from '../support/until.ts';
import { AWAY, lease, no, ok, PlayedAgent, REGISTERED, UNANSWERED } from './played-agent.ts';

const ILL = { verb: 'fail', failure: { error: 'the disk is full', fault: 'worker' }, own: true };
const MISSING = { verb: 'fail', failure: { error: 'no such path', fault: 'worker', missing_path: '/x' } };

let tasks = 0;

/** Takes a task, whose start ends like this. */
async function take(agent: PlayedAgent, outcome: object | 'not_ours'): Promise<void> {
  const before = agent.active.length;
  await agent.ends('lease', ok([lease(`task_${++tasks}`)]));
  await agent.ends('run', outcome);
  await until('the end of the task', () => agent.active.length === before);
}

const contextOf = (agent: PlayedAgent) => agent.actor.getSnapshot().context;

async function suspended(): Promise<PlayedAgent> {
  const agent = await new PlayedAgent().connected();
  for (let i = 0; i < 3; i++) await take(agent, ILL);
  return agent;
}

describe('a worker with faults of its own', () => {
  it('asks for no more tasks after three faults in a row, and says why', async () => {
    const agent = await new PlayedAgent().connected();
    await take(agent, ILL);
    await take(agent, ILL);
    assert.equal(agent.duty, '{serving:{asking:waiting}}');
    await take(agent, ILL);
    assert.equal(agent.duty, '{serving:{suspended:pausing}}');
    assert.equal(contextOf(agent).suspended, '3 faults in a row, the last: the disk is full');
    assert.equal(agent.count('lease'), 3);
    assert.ok(agent.beating, 'it is still heard');
  });

  it('does not count faults in what a job names', async () => {
    const agent = await new PlayedAgent().connected();
    for (let i = 0; i < 5; i++) await take(agent, MISSING);
    assert.equal(agent.duty, '{serving:{asking:waiting}}');
  });

  it('forgets its faults with the first success', async () => {
    const agent = await new PlayedAgent().connected();
    await take(agent, ILL);
    await take(agent, ILL);
    agent.actor.send(done('run.9', { well: true }));
    assert.equal(contextOf(agent).faults, 2, 'of a task that it does not run it hears nothing');
    await agent.ends('lease', ok([lease('task_y')]));
    agent.actor.send(done('run.1', { well: true }));
    assert.equal(contextOf(agent).faults, 0);
  });

  it('examines itself with growing pauses, and resumes by itself when it is well', async () => {
    const agent = await suspended();
    assert.deepEqual(agent.inputs.recover, { selfTests: 1 });
    await agent.ends('recover');
    assert.equal(agent.duty, '{serving:{suspended:testing}}');
    await agent.ends('selfTest', 'no Python');
    assert.equal(contextOf(agent).suspended, 'it looked at itself: no Python');
    assert.deepEqual(agent.inputs.recover, { selfTests: 2 });
    await agent.ends('recover');
    await agent.breaks('selfTest');
    assert.deepEqual(agent.inputs.recover, { selfTests: 3 });
    await agent.ends('recover');
    await agent.ends('selfTest', null);
    assert.equal(agent.duty, '{serving:{asking:waiting}}');
    assert.equal(contextOf(agent).suspended, null);
  });

  it('is suspended again by its next fault, for longer, as long as no task has succeeded', async () => {
    const agent = await suspended();
    await agent.ends('recover');
    await agent.ends('selfTest', null);
    await take(agent, ILL);
    assert.equal(agent.duty, '{serving:{suspended:pausing}}');
    assert.deepEqual(agent.inputs.recover, { selfTests: 2 });
  });

  it('lets running tasks go on, and runs the task that an open request still brings', async () => {
    const agent = await new PlayedAgent({ slots: 4 }).connected();
    await agent.ends('lease', ok([lease('a'), lease('b'), lease('c')]));
    assert.equal(agent.duty, '{serving:{asking:waiting}}');
    for (const key of ['run.1', 'run.2', 'run.3']) agent.actor.send(done(key, { well: false, why: 'EIO' }));
    assert.equal(agent.duty, '{serving:{asking:{withdrawing:ailing}}}');
    assert.equal(agent.count('withdraw'), 1);
    await agent.ends('lease', ok([lease('d')]));
    assert.equal(agent.duty, '{serving:{suspended:pausing}}');
    assert.deepEqual(agent.active, [{ task_id: 'd', attempt: 1 }]);
  });

  for (const [when, happens] of UNANSWERED) {
    it(`waits no longer for the open request ${when}`, async () => {
      const agent = await new PlayedAgent({ slots: 4 }).connected();
      await agent.ends('lease', ok([lease('a'), lease('b'), lease('c')]));
      for (const key of ['run.1', 'run.2', 'run.3']) agent.actor.send(done(key, { well: false, why: 'EIO' }));
      await happens(agent);
      const duty = agent.duty;
      assert.ok(/suspended:pausing|resting/.test(duty), duty);
    });
  }

  it('ends when it is told to', async () => {
    const agent = await suspended();
    agent.actor.send({ type: 'DRAIN' });
    await agent.stopped();
  });

  it('examines itself also while the server is away', async () => {
    const agent = await suspended();
    agent.beat({ type: 'LINK_ERROR', linkError: AWAY });
    await agent.ends('recover');
    await agent.ends('selfTest', null);
    assert.equal(agent.duty, '{serving:idle}');
    assert.equal(agent.link, 'away');
  });
});

const done = (key: string, health: unknown) =>
  ({
    type: `xstate.done.actor.${key}`,
    actorId: key,
    output: { ref: {}, ended: 'reported', health },
  }) as never;

const superseded = (session = REGISTERED.session) => ({
  kind: 'superseded' as const,
  detail: 'registered again',
  session,
});

describe('a worker whose id another copy of it has registered', () => {
  it('stops what it runs, gives up its id and goes on as a new worker', async () => {
    const agent = await new PlayedAgent().working();
    agent.beat({ type: 'LINK_ERROR', linkError: superseded() });
    assert.equal(agent.link, 'superseded');
    assert.ok(!agent.beating);
    await until('the report', () => agent.reports.length === 1);
    const [report] = agent.reports as [Outcome & { verb: 'fail' }];
    assert.match(report.failure.error, /another copy of this worker/);
    assert.deepEqual([report.failure.fault, report.failure.retriable], ['worker', true]);
    await agent.ends('forgetIdentity');
    assert.equal(agent.link, 'registering');
    await agent.ends('register', ok({ ...REGISTERED, worker_id: 'worker_2', session: 1 }));
    assert.equal(agent.link, 'connected');
    assert.equal(contextOf(agent).faults, 0);
    assert.match(agent.duty, /asking/);
  });

  it('learns it also from a lease request and from the first heartbeat after an outage', async () => {
    const asking = await new PlayedAgent().connected();
    await asking.ends('lease', no(superseded()));
    assert.equal(asking.link, 'superseded');
    const away = await new PlayedAgent().connected();
    away.beat({ type: 'LINK_ERROR', linkError: AWAY });
    await away.ends('pause');
    await away.ends('rejoin', no(superseded()));
    assert.equal(away.link, 'superseded');
  });

  it('gives up its id even where that cannot be written down', async () => {
    const agent = await new PlayedAgent().connected();
    agent.beat({ type: 'LINK_ERROR', linkError: superseded() });
    await agent.breaks('forgetIdentity');
    assert.equal(agent.link, 'registering');
  });

  it('ignores such an answer about an earlier registration of its own', async () => {
    const agent = await new PlayedAgent().connected();
    await agent.ends('lease', no(superseded(REGISTERED.session - 1)));
    assert.equal(agent.link, 'connected');
  });
});

describe('a program that was paused for a while', () => {
  it('asks the server at once, and reports only then', async () => {
    const agent = await new PlayedAgent().working();
    const beats = agent.beats.length;
    agent.actor.send({ type: 'WOKE' });
    assert.equal(contextOf(agent).woken, true);
    assert.equal(agent.link, 'connected');
    assert.deepEqual(agent.beats.slice(beats), [{ registered: REGISTERED, atOnce: true }]);
    agent.beat({ type: 'BEAT' });
    assert.equal(contextOf(agent).woken, false);
    assert.ok(!agent.aborted.includes('lease'), 'the open lease request may still bring a task');
  });

  it('goes on asking until the server answers, should it be away', async () => {
    const agent = await new PlayedAgent().connected();
    agent.beat({ type: 'LINK_ERROR', linkError: AWAY });
    agent.actor.send({ type: 'WOKE' });
    assert.equal(agent.link, 'away');
    await agent.ends('pause');
    await agent.ends('rejoin', no(AWAY));
    assert.equal(contextOf(agent).woken, true);
    await agent.ends('pause');
    await agent.ends('rejoin', ok([]));
    assert.equal(contextOf(agent).woken, false);
  });
});

describe('saved results of another worker, as a copy of a state directory has', () => {
  it('are delivered, but not listed as its own', async () => {
    const saved = [
      { ref: { ...lease('task_7').ref, worker_id: 'worker_0' }, outcome: ILL as Outcome },
      { ref: lease('task_8').ref, outcome: ILL as Outcome },
    ];
    const agent = await new PlayedAgent({ slots: 3, saved, delivers: false }).connected();
    assert.deepEqual(agent.active, [{ task_id: 'task_8', attempt: 1 }]);
    assert.equal(Object.keys(contextOf(agent).runs).length, 2);
    assert.equal(contextOf(agent).faults, 0, 'faults of an earlier process are not counted');
  });
});
