import { meetsAll, signatureOf, unmet, type WorkerProfile } from '../../machines/matching.ts';
import type { Requirements } from '../../machines/schema/job.ts';
import type { RequirementRow } from '../store/rows.ts';
import type { WorkerAddress } from './address.ts';
import type { Journal } from './journal.ts';

/** The distinct requirements of all tasks, by number and by signature. */
export class RequirementBook {
  readonly #rows = new Map<number, RequirementRow & { parsed: Requirements }>();
  readonly #bySignature = new Map<string, number>();
  #next = 1;

  /** Takes in a row that the store has. */
  learn(row: RequirementRow): void {
    this.#rows.set(row.id, { ...row, parsed: JSON.parse(row.document) as Requirements });
    this.#bySignature.set(row.signature, row.id);
    this.#next = Math.max(this.#next, row.id + 1);
  }

  /** The number of these requirements; `fresh` is the row to write when they are new. */
  number(journal: Journal, requirements: Requirements): { id: number; fresh: RequirementRow | null } {
    const signature = signatureOf(requirements);
    const known = this.#bySignature.get(signature);
    if (known !== undefined) return { id: known, fresh: null };
    const row = { id: this.#next, signature, document: JSON.stringify(requirements) };
    this.learn(row);
    journal.onRollback(() => this.#forget(row));
    return { id: row.id, fresh: row };
  }

  #forget(row: RequirementRow): void {
    this.#rows.delete(row.id);
    this.#bySignature.delete(row.signature);
  }

  document(id: number): string {
    return this.#rows.get(id)?.document ?? '{}';
  }

  isMetBy(id: number, worker: WorkerAddress): boolean {
    const known = worker.eligible.get(id);
    if (known !== undefined) return known;
    const met = meetsAll(this.#rows.get(id)?.parsed ?? {}, worker.row);
    worker.eligible.set(id, met);
    return met;
  }

  unmetBy(id: number, worker: WorkerProfile): string[] {
    return unmet(this.#rows.get(id)?.parsed ?? {}, worker);
  }
}
