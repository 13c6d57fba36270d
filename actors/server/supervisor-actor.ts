import { type Actor, createActor } from 'xstate';
import { type SupervisorEvent, supervisorMachine } from '../../machines/supervisor.ts';
import type { Core } from './core.ts';
import { type Inspectable, SUPERVISOR } from './runtime/inspection.ts';

/** The supervisor's own actor. No commit decides what it does, so watchers are notified at once. */
export class SupervisorActor implements Inspectable {
  readonly id = SUPERVISOR;
  readonly machine = supervisorMachine;
  readonly #core: Core;
  readonly #actor: Actor<typeof supervisorMachine> = createActor(supervisorMachine).start();

  constructor(core: Core) {
    this.#core = core;
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
    const { inspection, clock } = this.#core;
    const recording = inspection.begin(clock.now());
    if (!recording) return;
    recording.event(this, event, SUPERVISOR);
    inspection.publish(recording);
  }
}
