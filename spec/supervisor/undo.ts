import type { Journal } from '../../actors/server/turn/journal.ts';

/** A turn that can be undone. */
export class Undo implements Journal {
  readonly #steps: (() => void)[] = [];
  onRollback(undo: () => void): void {
    this.#steps.push(undo);
  }
  rollback(): void {
    for (const undo of this.#steps.reverse()) undo();
  }
}
