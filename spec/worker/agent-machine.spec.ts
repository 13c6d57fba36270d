import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LinkError } from '../../machines/agent/types.ts';
import { GIVEN_BACK, type Outcome } from '../../machines/attempt/attempt.ts';
import { until } from '../support/until.ts';
import {
  AWAY,
  FORGOTTEN,
  lease,
  no,
  ok,
  PlayedAgent,
  REFUSED,
  REGISTERED,
  UNANSWERED,
} from './played-agent.ts';

describe('the worker program', () => {
  it('registers first, then beats and asks for as many tasks as it has slots', async () => {
    const agent = new PlayedAgent({ slots: 3 });
    assert.deepEqual(agent.begun, ['register']);
    await agent.connected();
    assert.equal(agent.link, 'connected');
    assert.ok(agent.beating);
    assert.deepEqual(agent.inputs.lease, { registered: REGISTERED, free: 3 });
  });

  it('goes on asking while a slot is free, and not when none is', async () => {
    const agent = await new PlayedAgent({ slots: 2 }).working();
    assert.deepEqual(agent.inputs.lease, { registered: REGISTERED, free: 1 });
    await agent.ends('lease', ok([lease('task_2')]));
    assert.equal(agent.duty, '{serving:idle}');
    assert.deepEqual(
      agent.active.map((task) => task.task_id),
      ['task_1', 'task_2'],
    );
  });

  it('asks again as soon as a task has ended', async () => {
    const agent = await new PlayedAgent().working();
    assert.equal(agent.count('lease'), 1);
    await agent.ends('run', 'not_ours');
    await until('the next lease', () => agent.count('lease') === 2);
    assert.deepEqual(agent.active, []);
  });

  it('holds nothing of a task that has ended', async () => {
    const agent = await new PlayedAgent().working();
    const held = () => Object.keys(agent.actor.getSnapshot().children).filter((id) => id.startsWith('run.'));
    assert.deepEqual(held(), ['run.1']);
    await agent.ends('run', 'not_ours');
    await until('its end', () => agent.active.length === 0);
    assert.deepEqual(held(), []);
  });

  it('gives the names of attempts that have ended to later ones, and stops each by its own', async () => {
    const agent = await new PlayedAgent({ slots: 2 }).working();
    const names = () => Object.values(agent.actor.getSnapshot().context.runs).map(({ actor }) => actor);
    await agent.ends('run', 'not_ours');
    await until('its end', () => agent.active.length === 0);
    await agent.ends('lease', ok([lease('task_2'), lease('task_3')]));
    assert.deepEqual(names(), ['run.1', 'run.2']);
    agent.actor.send({ type: 'CANCEL', tasks: [{ task_id: 'task_2', attempt: 1 }] });
    await until('the end of the one that is stopped', () => agent.active.length === 1);
    assert.deepEqual(
      agent.active.map(({ task_id }) => task_id),
      ['task_3'],
    );
    await agent.ends('lease', ok([lease('task_4')]));
    assert.deepEqual(names(), ['run.2', 'run.1']);
  });

  it('asks for one next task while an outcome is being delivered, and not for more', async () => {
    const agent = await new PlayedAgent({ delivers: false }).connected();
    for (const [i, id] of ['task_1', 'task_2'].entries()) {
      assert.equal(agent.count('lease'), i + 1);
      await agent.ends('lease', ok([lease(id)]));
      await agent.ends('run', { verb: 'fail', failure: { error: 'x' } });
      await until('its outcome travels', () => agent.count('upload') === i + 1);
    }
    assert.deepEqual(
      agent.active.map((task) => task.task_id),
      ['task_1', 'task_2'],
      'the leases of both are renewed',
    );
    assert.equal(agent.count('lease'), 2, 'it has as many outcomes to deliver as slots beside its slots');
    agent.actor.send({ type: 'DRAIN' });
    assert.equal(agent.duty, 'draining', 'it ends when they are delivered');
    await agent.ends('upload', { verdict: 'accepted', artifacts: {} });
    assert.equal(agent.duty, 'draining');
  });

  it('ends with the reason when the server refuses it at start-up', async () => {
    const agent = new PlayedAgent();
    await agent.ends('register', no(REFUSED));
    assert.equal(agent.duty, 'stopped');
    assert.equal(agent.actor.getSnapshot().output?.failure, REFUSED);
  });

  it('waits for a server that is away at start-up', async () => {
    const agent = new PlayedAgent();
    await agent.ends('register', no(AWAY));
    assert.equal(agent.link, 'away');
    await agent.ends('pause');
    assert.equal(agent.link, 'registering');
  });

  it('does not end for a refusal once it has been registered', async () => {
    const agent = await new PlayedAgent().connected();
    agent.beat({ type: 'LINK_ERROR', linkError: REFUSED });
    assert.equal(agent.link, 'away');
    assert.equal((agent.inputs.pause as { linkError: LinkError }).linkError, REFUSED);
  });

  it('asks for no tasks while the server is away, and then goes on where it was', async () => {
    const agent = await new PlayedAgent({ slots: 2 }).working();
    agent.beat({ type: 'LINK_ERROR', linkError: AWAY });
    assert.equal(agent.duty, '{serving:idle}');
    await agent.ends('pause');
    assert.equal(agent.link, 'rejoining');
    await agent.ends('rejoin', ok([]));
    assert.equal(agent.link, 'connected');
    assert.equal(agent.duty, '{serving:{asking:waiting}}');
    assert.equal(agent.count('register'), 1);
    assert.equal(agent.active.length, 1);
  });

  it('pauses longer with each failure to connect, and starts over after the first heartbeat', async () => {
    const agent = await new PlayedAgent().connected();
    agent.beat({ type: 'LINK_ERROR', linkError: AWAY });
    const failures = () => (agent.inputs.pause as { failures: number }).failures;
    assert.equal(failures(), 1);
    await agent.ends('pause');
    await agent.ends('rejoin', no(AWAY));
    assert.equal(failures(), 2);
    await agent.ends('pause');
    await agent.ends('rejoin', ok([]));
    agent.beat({ type: 'LINK_ERROR', linkError: AWAY });
    assert.equal(failures(), 1);
  });

  it('registers again when the server does not know it any more, and keeps its tasks', async () => {
    const agent = await new PlayedAgent().working();
    agent.beat({ type: 'LINK_ERROR', linkError: FORGOTTEN });
    assert.equal(agent.link, 'registering');
    await agent.ends('register', ok({ ...REGISTERED, worker_id: 'worker_2' }));
    assert.equal(agent.link, 'connected');
    assert.equal(agent.active.length, 1);
  });

  it('registers again when a lease request is answered that the server does not know it', async () => {
    const agent = await new PlayedAgent().connected();
    await agent.ends('lease', no(FORGOTTEN));
    assert.equal(agent.link, 'registering');
  });

  it('pauses when a server forgets it right after its registration', async () => {
    const agent = await new PlayedAgent().connected();
    agent.beat({ type: 'LINK_ERROR', linkError: FORGOTTEN });
    await agent.ends('register', ok(REGISTERED));
    agent.beat({ type: 'LINK_ERROR', linkError: FORGOTTEN });
    assert.equal(agent.link, 'away');
  });

  it('rests after a lease request that failed, without giving up the connection', async () => {
    const agent = await new PlayedAgent().connected();
    await agent.ends('lease', no(AWAY));
    assert.equal(agent.link, 'connected');
    assert.equal(agent.duty, '{serving:resting}');
    await agent.ends('pause');
    assert.equal(agent.duty, '{serving:{asking:waiting}}');
  });

  it('tells the server that a task is being stopped, and stops it once', async () => {
    const agent = await new PlayedAgent().working();
    agent.beat({ type: 'CANCEL', tasks: [{ task_id: 'task_1', attempt: 1 }] });
    assert.deepEqual(agent.active, [{ task_id: 'task_1', attempt: 1, stopping: true }]);
    await until('the report', () => agent.reports.length === 1);
    assert.deepEqual(agent.reports, [{ verb: 'fail', failure: { error: 'cancelled', retriable: false } }]);
  });

  it('does not stop a later attempt when told to stop an earlier one', async () => {
    const agent = await new PlayedAgent().connected();
    await agent.ends('lease', ok([lease('task_1', 2)]));
    agent.beat({ type: 'CANCEL', tasks: [{ task_id: 'task_1', attempt: 1 }] });
    assert.deepEqual(agent.active, [{ task_id: 'task_1', attempt: 2 }]);
  });

  it('ignores a request to stop a task that it does not run', async () => {
    const agent = await new PlayedAgent().connected();
    agent.beat({ type: 'CANCEL', tasks: [{ task_id: 'task_9', attempt: null }] });
    assert.equal(agent.link, 'connected');
  });

  it('delivers saved results once it is registered, and lists their tasks as active', async () => {
    const saved = [
      { ref: lease('task_7').ref, outcome: { verb: 'fail', failure: { error: 'x' } } as Outcome },
    ];
    const agent = new PlayedAgent({ saved, delivers: false });
    assert.deepEqual(agent.active, []);
    await agent.connected();
    assert.deepEqual(agent.active, [{ task_id: 'task_7', attempt: 1 }]);
    assert.equal(agent.count('run'), 0);
    assert.equal(agent.count('lease'), 0, 'a result that waits takes a slot, as it does on the server');
  });

  it('drains: no new lease, and it ends when the last task has', async () => {
    const agent = await new PlayedAgent().working();
    const asked = agent.count('lease');
    agent.actor.send({ type: 'DRAIN' });
    assert.equal(agent.duty, 'draining');
    assert.ok(agent.beating, 'the lease of the task that still runs is renewed');
    await agent.ends('run', 'not_ours');
    await agent.stopped();
    assert.equal(agent.count('lease'), asked);
  });

  it('drains at once when it neither runs nor asks for anything', async () => {
    const agent = await new PlayedAgent().connected();
    await agent.ends('lease', no(AWAY));
    agent.actor.send({ type: 'DRAIN' });
    assert.equal(agent.duty, 'stopped');
  });

  it('stops running tasks at the second request, so that they are queued again', async () => {
    const agent = await new PlayedAgent().working();
    agent.actor.send({ type: 'DRAIN' });
    agent.actor.send({ type: 'DRAIN' });
    await agent.stopped();
    assert.deepEqual(agent.reports, [{ verb: 'fail', failure: GIVEN_BACK }]);
  });

  it('gives back what still runs when the notice is over that it has', async () => {
    const agent = await new PlayedAgent({ ending: { noticeSeconds: 30 } }).working();
    agent.actor.send({ type: 'DRAIN' });
    assert.deepEqual(agent.inputs.notice, { seconds: 30, at: null });
    assert.equal(agent.duty, 'draining');
    await agent.ends('notice');
    await agent.stopped();
    assert.deepEqual(agent.reports, [{ verb: 'fail', failure: GIVEN_BACK }]);
  });

  it('takes nothing more as its own end comes near, and gives back what runs shortly before', async () => {
    const agent = await new PlayedAgent({ slots: 2, ending: { drainsAt: 100, givesBackAt: 140 } }).working();
    assert.deepEqual(agent.inputs.notice, { seconds: null, at: 100 });
    await agent.ends('notice');
    assert.deepEqual(agent.inputs.withdraw, REGISTERED);
    await agent.ends('lease', ok([lease('task_2')]));
    assert.equal(agent.duty, 'draining');
    assert.deepEqual(agent.inputs.notice, { seconds: null, at: 140 });
    await agent.ends('notice');
    await agent.stopped();
    assert.deepEqual(agent.reports, [
      { verb: 'fail', failure: GIVEN_BACK },
      { verb: 'fail', failure: GIVEN_BACK },
    ]);
    assert.equal(agent.count('lease'), 2);
  });

  it('is told to end while its own end is near already: what runs is not stopped by that', async () => {
    const agent = await new PlayedAgent({ ending: { drainsAt: 100, givesBackAt: 140 } }).working();
    agent.actor.send({ type: 'DRAIN' });
    assert.deepEqual(agent.inputs.notice, { seconds: null, at: 140 });
    assert.equal(agent.duty, 'draining');
    await agent.ends('run', 'not_ours');
    await agent.stopped();
  });

  it('leaves results on disk at the third request', async () => {
    const agent = await new PlayedAgent({ delivers: false }).working();
    for (let i = 0; i < 3; i++) agent.actor.send({ type: 'DRAIN' });
    await agent.stopped();
    assert.deepEqual(agent.reports, []);
  });

  it('does not wait for a server that is away when it has to stop', async () => {
    const agent = await new PlayedAgent({ delivers: false }).working();
    agent.beat({ type: 'LINK_ERROR', linkError: AWAY });
    agent.actor.send({ type: 'STOP' });
    await agent.stopped();
    assert.deepEqual(agent.reports, []);
  });
});

describe('a worker that is told to stop while it asks for a task', () => {
  const leaving = async () => {
    const agent = await new PlayedAgent().connected();
    agent.actor.send({ type: 'DRAIN' });
    return agent;
  };

  it('has the open request answered at once, and does not abort it', async () => {
    const agent = await leaving();
    assert.deepEqual(agent.inputs.withdraw, REGISTERED);
    assert.equal(agent.aborted.length, 0);
    await agent.ends('lease', ok([]));
    await agent.stopped();
    assert.ok(agent.aborted.includes('withdraw'));
    assert.equal(agent.count('lease'), 1);
  });

  it('runs the task that had been given to it meanwhile, to its end', async () => {
    const agent = await leaving();
    await agent.ends('lease', ok([lease('task_1')]));
    assert.equal(agent.duty, 'draining');
    assert.deepEqual(agent.active, [{ task_id: 'task_1', attempt: 1 }]);
    await agent.ends('run', 'not_ours');
    await agent.stopped();
    assert.equal(agent.count('lease'), 1);
  });

  it('gives that task back at once at the second request to stop', async () => {
    const agent = await leaving();
    agent.actor.send({ type: 'DRAIN' });
    assert.equal(agent.count('withdraw'), 1);
    await agent.ends('lease', ok([lease('task_1')]));
    await agent.stopped();
    assert.deepEqual(agent.reports, [{ verb: 'fail', failure: GIVEN_BACK }]);
  });

  it('waits for the answer also when it has to stop at once', async () => {
    const agent = await new PlayedAgent().connected();
    agent.actor.send({ type: 'STOP' });
    assert.equal(agent.aborted.length, 0);
    await agent.ends('lease', ok([]));
    await agent.stopped();
  });

  for (const [when, happens] of UNANSWERED) {
    for (const hurried of [false, true]) {
      it(`waits no longer ${when}${hurried ? ' and it has to stop at once' : ''}`, async () => {
        const agent = await leaving();
        if (hurried) agent.actor.send({ type: 'STOP' });
        await happens(agent);
        await agent.stopped();
        assert.deepEqual(agent.reports, []);
      });
    }
  }

  it('aborts the request at the third request to stop', async () => {
    const agent = await leaving();
    agent.actor.send({ type: 'DRAIN' });
    agent.actor.send({ type: 'DRAIN' });
    await agent.stopped();
    assert.ok(agent.aborted.includes('lease'));
  });
});
