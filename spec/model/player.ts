import { setImmediate as tick } from 'node:timers/promises';
import type { Act } from './acts.ts';
import { UNKNOWN } from './calls.ts';
import { Gate } from './gate.ts';
import { bindNewcomer, findNewcomer } from './newcomer.ts';
import { type Operation, type Request, TIMES } from './operations.ts';
import { outcomes } from './orders.ts';
import { expire, perform, settle } from './reference.ts';
import { giveBack } from './rules.ts';
import { SideBySide } from './side-by-side.ts';
import { passUntil, standStill, startAnew } from './time.ts';
import { lacksPath, NEVER, type Task, type World } from './world.ts';

/** Plays one sequence on the system and on the reference, and stops at the first difference. */
export class Player extends SideBySide {
  /** @throws Error that says what the system did otherwise than the reference */
  async play(operations: readonly Operation[]): Promise<void> {
    for (const [i, operation] of operations.entries()) {
      try {
        await this.pass(TIMES.tick);
        await this.#playOne(operation);
        this.played.operations++;
      } catch (fault) {
        throw new Error(`operation ${i}, ${JSON.stringify(operation)}: ${(fault as Error).message}`, {
          cause: fault,
        });
      }
    }
    await this.compareState();
  }

  async #playOne(operation: Operation): Promise<void> {
    switch (operation.op) {
      case 'pass':
        return this.pass(operation.seconds);
      case 'jump':
        this.world.jumped += operation.seconds;
        return this.system.clock.jump(operation.seconds);
      case 'stand_still':
        return this.#standStill(operation.seconds);
      case 'restart':
        return this.#restart();
      case 'crash':
        return this.#crash(operation);
      case 'refuse':
        return this.#refuse(operation.request, operation.others, operation.listing);
      case 'refuse_slice':
        return this.#refuseSlice(operation.request, operation.commits);
      case 'at_once':
        return this.#atOnce(operation.requests, operation.duringCommit);
      case 'hang_up':
        return this.#hangUp(operation.which);
      case 'lost_lease':
        return this.#loseLease(operation.worker);
      case 'run':
        return this.#run(operation.worker);
      case 'unknown':
        return this.#unknown(operation.request);
      default:
        return this.single(operation);
    }
  }

  async #standStill(seconds: number): Promise<void> {
    this.system.clock.standStill(seconds);
    await this.comeToRest();
    standStill(this.world, seconds);
    await this.compare([this.world], true);
  }

  async #run(which: number): Promise<void> {
    await this.single({ op: 'lease', worker: which, max: 1, wait: 0, session: 'none' });
    const leased = Object.values(this.world.tasks).filter(({ status }) => status === 'leased');
    const task = leased.sort((a, b) => b.leaseNumber - a.leaseNumber)[0];
    if (!task) return;
    const { name, worker, attempt } = task;
    for (const verb of ['start', 'complete'] as const) {
      const ticket = ++this.ticket;
      const report = { act: 'report', ticket, task: name, worker: worker as string, verb, attempt } as const;
      const act: Act = { ...report, retriable: true, ill: false, lacks: false, givesBack: false };
      this.acts.set(ticket, act);
      await this.serve(act);
    }
  }

  async #atOnce(requests: readonly Request[], duringCommit: boolean): Promise<void> {
    // Which tasks are known for their path then depends on the order, and nobody can see it.
    if (this.#isPathLacked) {
      for (const request of requests) await this.single(request);
      return;
    }
    const acts = this.#distinct(requests);
    if (acts.length === 0) return;
    this.played.groups++;
    if (duringCommit) await this.#sendDuringCommit(acts);
    else await Promise.all(acts.map((act) => this.send(act)));
    await this.comeToRest();
    await this.compare(outcomes(this.world, acts), true);
    await this.#listTasks(acts);
  }

  /**
   * What a worker was told of its tasks may depend on the order of requests; a heartbeat with a list makes it plain.
   */
  async #listTasks(acts: readonly Act[]): Promise<void> {
    const heard = new Set(
      acts.flatMap((act) => ('worker' in act && act.worker !== null ? [act.worker] : [])),
    );
    for (const name of heard) await this.beat(name, 'all');
  }

  get #isPathLacked(): boolean {
    return Object.values(this.world.workers).some((worker) => lacksPath(this.world, worker));
  }

  /** At most one lease a worker: two with the same deadline could expire in either order. */
  #distinct(requests: readonly Request[]): Act[] {
    const asking = new Set(this.world.leases.map((lease) => lease.worker));
    return requests.flatMap((request) => {
      const act = this.name(certain(request));
      if (act?.act === 'lease' && act.max > 0) {
        if (asking.has(act.worker)) return [];
        asking.add(act.worker);
      }
      return act ? [act] : [];
    });
  }

  async #sendDuringCommit(acts: readonly Act[]): Promise<void> {
    const gate = Gate.beforeNext(this.system);
    const [first, ...others] = acts as [Act, ...Act[]];
    await this.send(first);
    // A request that changes nothing has no commit to wait for.
    await Promise.race([gate.reached, this.system.settle()]);
    for (const act of others) await this.send(act);
    await tick();
    delete this.system.faults.beforeCommit;
    gate.release();
  }

  async #hangUp(which: number): Promise<void> {
    const waiting = [...this.world.leases, ...this.world.beats];
    const chosen = waiting[which % Math.max(1, waiting.length)];
    if (!chosen) return;
    await this.system.hangUp(chosen.ticket);
    this.#leave(chosen.ticket);
    await this.compare([this.world], false);
  }

  #leave(ticket: number): void {
    this.world.leases = this.world.leases.filter((lease) => lease.ticket !== ticket);
    this.world.beats = this.world.beats.filter((beat) => beat.ticket !== ticket);
    delete this.world.answers[ticket];
  }

  async #loseLease(worker: number): Promise<void> {
    // Over a socket, nobody can say whether the break or the answer comes first.
    if (this.system.kind === 'http') return;
    const act = this.name({ op: 'lease', worker, max: 1, wait: 0, session: 'none' });
    if (!act) return;
    this.system.faults.afterCommit = async () => {
      delete this.system.faults.afterCommit;
      this.system.outstanding.get(act.ticket)?.call.hangUp();
    };
    await this.send(act);
    await this.system.settle();
    delete this.system.faults.afterCommit;
    await this.system.hangUp(act.ticket);
    perform(this.world, act);
    settle(this.world);
    const granted = (this.world.answers[act.ticket]?.body?.tasks ?? []) as { task: string }[];
    for (const { task } of granted) giveBack(this.world, this.world.tasks[task] as Task);
    this.#leave(act.ticket);
    settle(this.world);
    await this.compare([this.world], false);
  }

  async #unknown(what: keyof typeof UNKNOWN): Promise<void> {
    const ticket = ++this.ticket;
    const { method, path, body } = UNKNOWN[what];
    await this.system.send(ticket, method, path, body, false);
    await this.system.settle();
    this.world.answers[ticket] = { status: 404, code: 'unknown_id' };
    await this.compare([this.world], false);
  }

  async #restart(): Promise<void> {
    await this.compareState();
    this.played.restarts++;
    for (const waiting of [...this.world.leases, ...this.world.beats]) waiting.until = this.world.now;
    expire(this.world);
    await this.system.restart();
    startAnew(this.world);
    await this.compare([this.world], false);
    await this.compareState();
  }

  async #crash({ request, durable, commits }: Extract<Operation, { op: 'crash' }>): Promise<void> {
    const act = this.name(request);
    if (!act) return;
    this.played.crashes++;
    const gate = Gate.forCrash(this.system, durable, commits);
    await this.send(act);
    await Promise.race([gate.reached, this.system.settle()]);
    gate.release();
    await this.system.crash();
    // What was going on goes on.
    await this.system.settle();
    const before = structuredClone(this.world);
    // With its first commit the whole of it is certain.
    const isCertain = durable || commits > 0 || !gate.wasReached;
    if (commits > 0 && gate.wasReached) this.played.slices++;
    const bound = isCertain ? await findNewcomer(this.system.port, act, this.names) : null;
    if (isCertain) {
      if (gate.wasReached) this.world.diesAfter = commits + (durable ? 1 : 0);
      perform(this.world, act);
      this.world.diesAfter = NEVER;
      settle(this.world);
      if (bound && this.world.answers[act.ticket]?.status === 200) bindNewcomer(this.names, act, bound);
    }
    if (!isCertain) this.world = before;
    this.world.answers = {};
    startAnew(this.world);
    await this.compare([this.world], false);
    await this.compareState();
    // Which tasks were taken from a worker before, and which after the restart, only a list makes plain.
    if (commits > 0 && gate.wasReached)
      for (const name of Object.keys(this.world.workers)) await this.beat(name, 'all');
  }

  async #refuse(request: Request, others: readonly Request[], listing: boolean | null): Promise<void> {
    const act = this.name(request);
    // A success or a failure waits for the store.
    if (!act || (act.act === 'report' && act.verb !== 'start')) return;
    this.played.refusals++;
    const later = this.#isPathLacked ? [] : this.#distinct(others.filter(({ op }) => op !== 'lease'));
    await this.#failCommit(act, later);
    this.world = this.#withoutStore(act);
    await this.comeToRest();
    if (later.length === 0) expire(this.world);
    await this.compare(later.length > 0 ? outcomes(this.world, later) : [this.world], later.length > 0);
    await this.#listTasks(later);
    await this.compareState();
    const worker = 'worker' in act && act.worker !== null ? act.worker : null;
    if (worker !== null && listing !== null) await this.beat(worker, listing ? 'all' : null);
    // The store is tried again after a second, on a clock that may be another by a hair.
    await this.pass(1.01);
  }

  /** A refused slice undoes none of those before it; it is tried again, and who waits is told that it goes on. */
  async #refuseSlice(request: Request, commits: number): Promise<void> {
    const act = this.name(certain(request));
    if (!act) return;
    const refused = await this.#failCommit(act, [], commits);
    if (refused) this.played.slices++;
    // Nobody is leased a task of a new job before all of them have been looked at.
    if (refused && act.act === 'submit') passUntil(this.world, this.world.now + 1);
    perform(this.world, act);
    settle(this.world);
    // The store is tried again after a second, on a clock that may be another by a hair.
    await this.system.pass(1.01);
    passUntil(this.world, this.system.clock.monotonic());
    await this.compare([this.world], true);
    await this.compareState();
  }

  /** The world after a request that could not be written: as if it had not been, but for a heartbeat. */
  #withoutStore(act: Act): World {
    const tried = structuredClone(this.world);
    perform(tried, act);
    settle(tried);
    if (tried.events.length === this.world.events.length) return tried;
    const world = structuredClone(this.world);
    world.storeFails = true;
    if (act.act === 'beat') perform(world, act);
    else world.answers[act.ticket] = { status: 503, code: 'store_unavailable' };
    world.storeFails = false;
    return world;
  }

  /** @returns whether there was one to fail */
  async #failCommit(act: Act, later: readonly Act[], passing = 0): Promise<boolean> {
    const gate = Gate.failingNext(this.system, passing);
    await this.send(act);
    await Promise.race([gate.reached, this.system.settle()]);
    if (!gate.wasReached) delete this.system.faults.beforeCommit;
    for (const other of later) await this.send(other);
    await tick();
    gate.release();
    await this.system.settle();
    return gate.wasReached;
  }
}

/** What would turn out otherwise by the moment at which the others are served is left out. */
function certain(request: Request): Request {
  if (request.op === 'report') return { ...request, lacks: false };
  return request.op === 'submit' ? { ...request, pinned: true } : request;
}
