import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createActor, fromCallback, fromPromise, SimulatedClock } from 'xstate';
import { activeOf, agentMachine } from '../../machines/agent.ts';
import type { LinkEvent, Trouble } from '../../machines/agent-types.ts';
import { type Lease, type Outcome, runMachine, type Verdict } from '../../machines/run.ts';
import { until } from '../support/until.ts';

const REGISTERED = { worker_id: 'worker_1', heartbeat_interval_s: 10, lease_ttl_s: 60, rights: [] };
const AWAY: Trouble = { kind: 'unreachable', detail: 'ECONNREFUSED' };
const REFUSED: Trouble = { kind: 'refused', detail: 'missing token' };
const FORGOTTEN: Trouble = { kind: 'unknown_worker', detail: 'no worker' };
const ok = (value: unknown) => ({ ok: true, value });
const no = (trouble: Trouble) => ({ ok: false, trouble });

const lease = (task_id: string, attempt = 1) =>
  ({ ref: { task_id, attempt, worker_id: 'worker_1' }, payload: {}, text: '{}' }) as unknown as Lease;

/** The statechart with a server that answers when the test says so. */
class Agent {
  readonly begun: string[] = [];
  readonly inputs: Record<string, unknown> = {};
  readonly reports: Outcome[] = [];
  beat: (event: LinkEvent) => void = () => {};
  beating = false;
  readonly actor;
  readonly clock = new SimulatedClock();
  readonly aborted: string[] = [];
  readonly #ends = new Map<string, { resolve(value: unknown): void; reject(fault: Error): void }>();

  constructor({ slots = 1, saved = [] as { ref: Lease['ref']; outcome: Outcome }[], delivers = true } = {}) {
    const step = (name: string) =>
      fromPromise(({ input, signal }) => {
        this.begun.push(name);
        this.inputs[name] = input;
        signal.addEventListener('abort', () => this.aborted.push(name));
        return new Promise((resolve, reject) => this.#ends.set(name, { resolve, reject }));
      });
    const at = (value: unknown) => fromPromise(async () => value);
    const run = runMachine.provide({
      actors: {
        reportStart: step('run'),
        stopWork: at(undefined),
        save: at(undefined),
        upload: delivers ? at({ verdict: 'accepted', artifacts: {} }) : step('upload'),
        report: fromPromise<Verdict, { outcome: Outcome }>(async ({ input }) => {
          this.reports.push(input.outcome);
          return 'accepted';
        }),
        clean: at(undefined),
      },
    } as Parameters<typeof runMachine.provide>[0]);
    const logic = agentMachine.provide({
      actors: {
        run,
        register: step('register'),
        rejoin: step('rejoin'),
        lease: step('lease'),
        withdraw: step('withdraw'),
        pause: step('pause'),
        heartbeat: fromCallback(({ sendBack }) => {
          this.beating = true;
          this.beat = sendBack;
          return () => {
            this.beating = false;
          };
        }),
      },
    } as Parameters<typeof agentMachine.provide>[0]);
    this.actor = createActor(logic, {
      input: { slots, saved, deliverySeconds: 60 },
      clock: this.clock,
    });
    this.actor.start();
  }

  /** Lets the step under way end. */
  async ends(name: string, value?: unknown): Promise<void> {
    this.#ends.get(name)?.resolve(value);
    await new Promise((resolve) => setImmediate(resolve));
  }

  async breaks(name: string): Promise<void> {
    this.#ends.get(name)?.reject(new Error(`${name} failed`));
    await new Promise((resolve) => setImmediate(resolve));
  }

  async connected(): Promise<this> {
    await this.ends('register', ok(REGISTERED));
    return this;
  }

  get link(): unknown {
    const { value } = this.actor.getSnapshot();
    return typeof value === 'object' ? value.active?.link : value;
  }

  get duty(): string {
    const { value } = this.actor.getSnapshot();
    return typeof value === 'object' ? JSON.stringify(value.active?.duty).replaceAll('"', '') : value;
  }

  get active() {
    return activeOf(this.actor.getSnapshot().context.runs);
  }

  count(name: string): number {
    return this.begun.filter((begun) => begun === name).length;
  }

  async stopped(): Promise<void> {
    await until('the agent to stop', () => this.duty === 'stopped');
  }
}

describe('the worker program', () => {
  it('registers first, then beats and asks for as many tasks as it has slots', async () => {
    const agent = new Agent({ slots: 3 });
    assert.deepEqual(agent.begun, ['register']);
    await agent.connected();
    assert.equal(agent.link, 'connected');
    assert.ok(agent.beating);
    assert.deepEqual(agent.inputs.lease, { registered: REGISTERED, free: 3 });
  });

  it('asks on while a slot is free, and not when none is', async () => {
    const agent = await new Agent({ slots: 2 }).connected();
    await agent.ends('lease', ok([lease('task_1')]));
    assert.deepEqual(agent.inputs.lease, { registered: REGISTERED, free: 1 });
    await agent.ends('lease', ok([lease('task_2')]));
    assert.equal(agent.duty, '{serving:idle}');
    assert.deepEqual(
      agent.active.map((task) => task.task_id),
      ['task_1', 'task_2'],
    );
  });

  it('asks again as soon as a task has ended', async () => {
    const agent = await new Agent().connected();
    await agent.ends('lease', ok([lease('task_1')]));
    assert.equal(agent.count('lease'), 1);
    await agent.ends('run', 'not_ours');
    await until('the next lease', () => agent.count('lease') === 2);
    assert.deepEqual(agent.active, []);
  });

  it('ends with the reason when the server refuses it at start-up', async () => {
    const agent = new Agent();
    await agent.ends('register', no(REFUSED));
    assert.equal(agent.duty, 'stopped');
    assert.equal(agent.actor.getSnapshot().output?.failure, REFUSED);
  });

  it('waits for a server that is away at start-up', async () => {
    const agent = new Agent();
    await agent.ends('register', no(AWAY));
    assert.equal(agent.link, 'away');
    await agent.ends('pause');
    assert.equal(agent.link, 'registering');
  });

  it('does not end for a refusal once it has been registered', async () => {
    const agent = await new Agent().connected();
    agent.beat({ type: 'TROUBLE', trouble: REFUSED });
    assert.equal(agent.link, 'away');
    assert.equal((agent.inputs.pause as { trouble: Trouble }).trouble, REFUSED);
  });

  it('asks for no tasks while the server is away, and takes up where it was', async () => {
    const agent = await new Agent({ slots: 2 }).connected();
    await agent.ends('lease', ok([lease('task_1')]));
    agent.beat({ type: 'TROUBLE', trouble: AWAY });
    assert.equal(agent.duty, '{serving:idle}');
    await agent.ends('pause');
    assert.equal(agent.link, 'rejoining');
    await agent.ends('rejoin', ok([]));
    assert.equal(agent.link, 'connected');
    assert.equal(agent.duty, '{serving:{asking:waiting}}');
    assert.equal(agent.count('register'), 1);
    assert.equal(agent.active.length, 1);
  });

  it('pauses longer with each failure, and forgets them with the first heartbeat', async () => {
    const agent = await new Agent().connected();
    agent.beat({ type: 'TROUBLE', trouble: AWAY });
    const failures = () => (agent.inputs.pause as { failures: number }).failures;
    assert.equal(failures(), 1);
    await agent.ends('pause');
    await agent.ends('rejoin', no(AWAY));
    assert.equal(failures(), 2);
    await agent.ends('pause');
    await agent.ends('rejoin', ok([]));
    agent.beat({ type: 'TROUBLE', trouble: AWAY });
    assert.equal(failures(), 1);
  });

  it('registers again when the server does not know it any more, and keeps its tasks', async () => {
    const agent = await new Agent().connected();
    await agent.ends('lease', ok([lease('task_1')]));
    agent.beat({ type: 'TROUBLE', trouble: FORGOTTEN });
    assert.equal(agent.link, 'registering');
    await agent.ends('register', ok({ ...REGISTERED, worker_id: 'worker_2' }));
    assert.equal(agent.link, 'connected');
    assert.equal(agent.active.length, 1);
  });

  it('registers again when a lease request finds that out', async () => {
    const agent = await new Agent().connected();
    await agent.ends('lease', no(FORGOTTEN));
    assert.equal(agent.link, 'registering');
  });

  it('does not race with a server that forgets at once what it registered', async () => {
    const agent = await new Agent().connected();
    agent.beat({ type: 'TROUBLE', trouble: FORGOTTEN });
    await agent.ends('register', ok(REGISTERED));
    agent.beat({ type: 'TROUBLE', trouble: FORGOTTEN });
    assert.equal(agent.link, 'away');
  });

  it('rests after a lease request that failed, without giving up the connection', async () => {
    const agent = await new Agent().connected();
    await agent.ends('lease', no(AWAY));
    assert.equal(agent.link, 'connected');
    assert.equal(agent.duty, '{serving:resting}');
    await agent.ends('pause');
    assert.equal(agent.duty, '{serving:{asking:waiting}}');
  });

  it('tells the server that a task is being stopped, and stops it once', async () => {
    const agent = await new Agent().connected();
    await agent.ends('lease', ok([lease('task_1')]));
    agent.beat({ type: 'CANCEL', tasks: [{ task_id: 'task_1', attempt: 1 }] });
    assert.deepEqual(agent.active, [{ task_id: 'task_1', attempt: 1, stopping: true }]);
    await until('the report', () => agent.reports.length === 1);
    assert.deepEqual(agent.reports, [{ verb: 'fail', failure: { error: 'cancelled', retriable: false } }]);
  });

  it('does not stop a later attempt for what was said of an earlier one', async () => {
    const agent = await new Agent().connected();
    await agent.ends('lease', ok([lease('task_1', 2)]));
    agent.beat({ type: 'CANCEL', tasks: [{ task_id: 'task_1', attempt: 1 }] });
    assert.deepEqual(agent.active, [{ task_id: 'task_1', attempt: 2 }]);
  });

  it('survives a request to stop what it does not run', async () => {
    const agent = await new Agent().connected();
    agent.beat({ type: 'CANCEL', tasks: [{ task_id: 'task_9', attempt: null }] });
    assert.equal(agent.link, 'connected');
  });

  it('takes up saved results once it is registered, and lists them as active', async () => {
    const saved = [
      { ref: lease('task_7').ref, outcome: { verb: 'fail', failure: { error: 'x' } } as Outcome },
    ];
    const agent = new Agent({ saved, delivers: false });
    assert.deepEqual(agent.active, []);
    await agent.connected();
    assert.deepEqual(agent.active, [{ task_id: 'task_7', attempt: 1 }]);
    assert.equal(agent.count('run'), 0);
    assert.equal(agent.count('lease'), 0, 'a result that waits takes a slot, as it does on the server');
  });

  it('drains: no new lease, and it ends when the last task has', async () => {
    const agent = await new Agent().connected();
    await agent.ends('lease', ok([lease('task_1')]));
    const asked = agent.count('lease');
    agent.actor.send({ type: 'DRAIN' });
    assert.equal(agent.duty, 'draining');
    assert.ok(agent.beating, 'the lease of the task that still runs is renewed');
    await agent.ends('run', 'not_ours');
    await agent.stopped();
    assert.equal(agent.count('lease'), asked);
  });

  it('drains at once when it neither runs nor asks for anything', async () => {
    const agent = await new Agent().connected();
    await agent.ends('lease', no(AWAY));
    agent.actor.send({ type: 'DRAIN' });
    assert.equal(agent.duty, 'stopped');
  });

  it('stops running tasks at the second request, so that they are queued again', async () => {
    const agent = await new Agent().connected();
    await agent.ends('lease', ok([lease('task_1')]));
    agent.actor.send({ type: 'DRAIN' });
    agent.actor.send({ type: 'DRAIN' });
    await agent.stopped();
    assert.deepEqual(agent.reports, [
      { verb: 'fail', failure: { error: 'worker stopped', retriable: true } },
    ]);
  });

  it('leaves results on disk at the third', async () => {
    const agent = await new Agent({ delivers: false }).connected();
    await agent.ends('lease', ok([lease('task_1')]));
    for (let i = 0; i < 3; i++) agent.actor.send({ type: 'DRAIN' });
    await agent.stopped();
    assert.deepEqual(agent.reports, []);
  });

  it('does not wait for a server that is away when it has to stop', async () => {
    const agent = await new Agent({ delivers: false }).connected();
    await agent.ends('lease', ok([lease('task_1')]));
    agent.beat({ type: 'TROUBLE', trouble: AWAY });
    agent.actor.send({ type: 'STOP' });
    await agent.stopped();
    assert.deepEqual(agent.reports, []);
  });
});

describe('a worker that is told to end while it asks for a task', () => {
  const leaving = async () => {
    const agent = await new Agent().connected();
    agent.actor.send({ type: 'DRAIN' });
    return agent;
  };

  it('has the open request answered now, and does not break it off', async () => {
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

  it('gives that task back at once when it is in a hurry', async () => {
    const agent = await leaving();
    agent.actor.send({ type: 'DRAIN' });
    assert.equal(agent.count('withdraw'), 1);
    await agent.ends('lease', ok([lease('task_1')]));
    await agent.stopped();
    const failure = { error: 'worker stopped', retriable: true };
    assert.deepEqual(agent.reports, [{ verb: 'fail', failure }]);
  });

  it('hears the answer out when it is to stop at once, too', async () => {
    const agent = await new Agent().connected();
    agent.actor.send({ type: 'STOP' });
    assert.equal(agent.aborted.length, 0);
    await agent.ends('lease', ok([]));
    await agent.stopped();
  });

  const ways: [string, (agent: Agent) => unknown][] = [
    ['when the request fails', (agent) => agent.ends('lease', no(AWAY))],
    ['when the request breaks', (agent) => agent.breaks('lease')],
    ['when the server knows no withdrawal', (agent) => agent.breaks('withdraw')],
    ['when the connection is lost', (agent) => agent.beat({ type: 'TROUBLE', trouble: AWAY })],
    ['when no answer comes within seconds', (agent) => agent.clock.increment(5_000)],
  ];
  for (const [when, happens] of ways) {
    for (const hurried of [false, true]) {
      it(`waits no longer ${when}${hurried ? ' and it is in a hurry' : ''}`, async () => {
        const agent = await leaving();
        if (hurried) agent.actor.send({ type: 'STOP' });
        await happens(agent);
        await agent.stopped();
        assert.deepEqual(agent.reports, []);
      });
    }
  }

  it('breaks the request off at the third request to end', async () => {
    const agent = await leaving();
    agent.actor.send({ type: 'DRAIN' });
    agent.actor.send({ type: 'DRAIN' });
    await agent.stopped();
    assert.ok(agent.aborted.includes('lease'));
  });
});
