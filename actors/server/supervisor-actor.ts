import { type Actor, createActor } from 'xstate';
import { type SupervisorEvent, supervisorMachine } from '../../machines/supervisor.ts';
import type { Clock } from '../shared/clock.ts';
import { type Inspectable, type Inspection, SUPERVISOR } from './runtime/inspection.ts';

/** The supervisor's own actor. No commit decides what it does, so watchers are notified at once. */
export class SupervisorActor implements Inspectable {
  readonly id = SUPERVISOR;
  readonly machine = supervisorMachine;
  readonly #clock: Clock;
  readonly #inspection: Inspection;
  readonly #actor: Actor<typeof supervisorMachine> = createActor(supervisorMachine).start();

  constructor(clock: Clock, inspection: Inspection) {
    this.#clock = clock;
    this.#inspection = inspection;
  }

  /** One of `recovering`, `serving`, `degraded`, `draining`, `stopped`. */
  get state(): string {
    return this.snapshot.value;
  }

  get snapshot() {
    return this.#actor.getSnapshot();
  }

  tell(event: SupervisorEvent): void {
    this.#actor.send(event);
    const recording = this.#inspection.begin(this.#clock.now());
    if (!recording) return;
    recording.event(this, event, SUPERVISOR);
    this.#inspection.publish(recording);
  }
}
