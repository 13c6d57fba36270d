import { type Asked, type Engine, EngineError, type Look } from '../../actors/fleet/engine.ts';
import type { Template } from '../../machines/fleet/file.ts';
import type { Allocation } from '../../machines/fleet/plan.ts';

/** Machines that come and go as the test says. */
export class PlayedEngine implements Engine {
  readonly allocations: Allocation[] = [];
  failures: Look['failures'] = [];
  /** What it was asked for, in order. */
  readonly asked: { template: string; places: readonly number[] }[] = [];
  readonly drained: string[] = [];
  /** What it says when it is looked at, or asked for something. */
  fault: { look?: string; ask?: string } = {};
  #next = 1;

  async look(): Promise<Look> {
    if (this.fault.look !== undefined) throw new EngineError(this.fault.look);
    const { failures } = this;
    this.failures = [];
    return { allocations: [...this.allocations], failures };
  }

  async ask({ name: template }: Template, { places }: Asked): Promise<void> {
    if (this.fault.ask !== undefined) throw new EngineError(this.fault.ask);
    this.asked.push({ template, places });
    for (const place of places) {
      const id = `job-${this.#next++}`;
      this.allocations.push({ template, place, id, state: 'waiting', reason: 'Resources', ends_at: null });
    }
  }

  async withdraw(allocations: readonly Allocation[]): Promise<void> {
    for (const { id } of allocations)
      if (this.allocations.find((each) => each.id === id)?.state === 'waiting') this.ends(id);
  }

  async drain(allocations: readonly Allocation[]): Promise<void> {
    this.drained.push(...allocations.map(({ id }) => id));
  }

  /** The allocation of a place has been given its machine. */
  starts(place: number): void {
    const at = this.allocations.findIndex((each) => each.place === place);
    this.allocations[at] = { ...(this.allocations[at] as Allocation), state: 'running', reason: null };
  }

  ends(id: string): void {
    this.allocations.splice(
      this.allocations.findIndex((each) => each.id === id),
      1,
    );
  }
}
