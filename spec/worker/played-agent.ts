import { createActor, fromCallback, fromPromise, SimulatedClock } from 'xstate';
import { activeOf, agentMachine } from '../../machines/agent/agent.ts';
import { ENDLESS } from '../../machines/agent/notice.ts';
import type { Ending, LinkError, LinkEvent } from '../../machines/agent/types.ts';
import {
  attemptMachine,
  type Lease,
  type Outcome,
  type ReportOutcome,
} from '../../machines/attempt/attempt.ts';
import { until } from '../support/until.ts';

export const REGISTERED = {
  worker_id: 'worker_1',
  heartbeat_interval_s: 10,
  lease_ttl_s: 60,
  rights: [],
  session: 1,
  accepts: [],
};
export const AWAY: LinkError = { kind: 'unreachable', detail: 'ECONNREFUSED' };
export const REFUSED: LinkError = { kind: 'refused', detail: 'missing token' };
export const FORGOTTEN: LinkError = { kind: 'unknown_worker', detail: 'no worker' };
export const ok = (value: unknown) => ({ ok: true, value });
export const no = (linkError: LinkError) => ({ ok: false, linkError });

export const lease = (task_id: string, attempt = 1) =>
  ({ ref: { task_id, attempt, worker_id: 'worker_1' }, payload: {}, text: '{}' }) as unknown as Lease;

/** The statechart with a server that answers when the test says so. */
export class PlayedAgent {
  readonly begun: string[] = [];
  readonly inputs: Record<string, unknown> = {};
  readonly reports: Outcome[] = [];
  beat: (event: LinkEvent) => void = () => {};
  beating = false;
  /** What each heartbeat actor was started with. */
  readonly beats: unknown[] = [];
  readonly actor;
  readonly clock = new SimulatedClock();
  readonly aborted: string[] = [];
  readonly #ends = new Map<string, { resolve(value: unknown): void; reject(fault: Error): void }>();

  constructor({
    slots = 1,
    saved = [] as { ref: Lease['ref']; outcome: Outcome }[],
    delivers = true,
    ending = {} as Partial<Ending>,
  } = {}) {
    const step = (name: string) =>
      fromPromise(({ input, signal }) => {
        this.inputs[name] = input;
        // That goes on beside everything else.
        if (name !== 'notice') {
          this.begun.push(name);
          signal.addEventListener('abort', () => this.aborted.push(name));
        }
        return new Promise((resolve, reject) => this.#ends.set(name, { resolve, reject }));
      });
    const at = (value: unknown) => fromPromise(async () => value);
    const run = attemptMachine.provide({
      actors: {
        reportStart: step('run'),
        stopWork: at(undefined),
        save: at(undefined),
        upload: delivers ? at({ verdict: 'accepted', artifacts: {} }) : step('upload'),
        report: fromPromise<ReportOutcome, { outcome: Outcome }>(async ({ input }) => {
          this.reports.push(input.outcome);
          return 'accepted';
        }),
        clean: at(undefined),
      },
    } as Parameters<typeof attemptMachine.provide>[0]);
    const logic = agentMachine.provide({
      actors: {
        run,
        register: step('register'),
        rejoin: step('rejoin'),
        lease: step('lease'),
        withdraw: step('withdraw'),
        pause: step('pause'),
        forgetIdentity: step('forgetIdentity'),
        recover: step('recover'),
        selfTest: step('selfTest'),
        notice: step('notice'),
        heartbeat: fromCallback(({ sendBack, input }) => {
          this.beats.push(input);
          this.beating = true;
          this.beat = sendBack;
          return () => {
            this.beating = false;
          };
        }),
      },
    } as Parameters<typeof agentMachine.provide>[0]);
    this.actor = createActor(logic, {
      input: { slots, saved, deliverySeconds: 60, ending: { ...ENDLESS, ...ending } },
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

  /** Connected, and at work on `task_1`. */
  async working(): Promise<this> {
    await this.connected();
    await this.ends('lease', ok([lease('task_1')]));
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
    return activeOf(this.actor.getSnapshot().context);
  }

  count(name: string): number {
    return this.begun.filter((begun) => begun === name).length;
  }

  async stopped(): Promise<void> {
    await until('the agent to stop', () => this.duty === 'stopped');
  }
}

/** How an open request for work may come to nothing. */
export const UNANSWERED: [string, (agent: PlayedAgent) => unknown][] = [
  ['when the request fails', (agent) => agent.ends('lease', no(AWAY))],
  ['when the request breaks', (agent) => agent.breaks('lease')],
  ['when the server knows no withdrawal', (agent) => agent.breaks('withdraw')],
  ['when the connection is lost', (agent) => agent.beat({ type: 'LINK_ERROR', linkError: AWAY })],
  ['when no answer comes within seconds', (agent) => agent.clock.increment(5_000)],
];
