import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { lease, ok, PlayedAgent } from './played-agent.ts';

const idle = () => new PlayedAgent({ ending: { idleSeconds: 60 } });

describe('a worker that is told to retire', () => {
  it('takes nothing more and finishes what it runs, also where a notice is set', async () => {
    const agent = await new PlayedAgent({ ending: { noticeSeconds: 10 } }).working();
    agent.actor.send({ type: 'RETIRE' });
    assert.equal(agent.duty, 'draining');
    agent.clock.increment(3_600_000);
    assert.equal(agent.duty, 'draining');
    await agent.ends('run', 'not_ours');
    await agent.stopped();
  });

  it('gives back what it runs when it is told to end thereafter', async () => {
    const agent = await new PlayedAgent({ ending: { noticeSeconds: 10 } }).working();
    agent.actor.send({ type: 'RETIRE' });
    agent.actor.send({ type: 'DRAIN' });
    assert.match(agent.duty, /stopping/);
  });
});

describe('a worker that is told to end when it has nothing to do', () => {
  it('drains after so long, and hears out the request that is under way', async () => {
    const agent = await idle().connected();
    await agent.clock.increment(59_999);
    assert.match(agent.duty, /asking/);
    agent.clock.increment(1);
    assert.match(agent.duty, /withdrawing/);
    await agent.ends('lease', ok([]));
    await agent.stopped();
  });

  it('counts anew from each task on, and finishes one that came at the last moment', async () => {
    const agent = await idle().connected();
    agent.clock.increment(59_000);
    await agent.ends('lease', ok([lease('task_1')]));
    agent.clock.increment(3_600_000);
    assert.deepEqual(
      agent.active.map(({ task_id }) => task_id),
      ['task_1'],
    );
    await agent.ends('run', 'not_ours');
    agent.clock.increment(60_000);
    assert.match(agent.duty, /withdrawing/);
    await agent.ends('lease', ok([lease('task_2')]));
    assert.equal(agent.duty, 'draining');
    await agent.ends('run', 'not_ours');
    await agent.stopped();
  });

  it('ends also while the server is away, and stays for ever where nobody says so', async () => {
    const agent = idle();
    agent.clock.increment(60_000);
    await agent.stopped();
    const patient = await new PlayedAgent().connected();
    patient.clock.increment(365 * 86_400_000);
    assert.match(patient.duty, /asking/);
  });
});
