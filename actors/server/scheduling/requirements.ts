import {
  type Asked,
  asked,
  rangesAsked,
  signatureOf,
  termsAsked,
} from '../../../machines/matching/matching.ts';
import type { Requirements } from '../../../machines/schema/job.ts';
import type { RequirementRow } from '../store/rows.ts';
import type { Journal } from '../turn/journal.ts';
import { type Lane, NO_LANE } from './lanes.ts';
import type { Filing } from './shelf.ts';

const signOf = ({ signature, owner, type }: Pick<RequirementRow, 'signature' | 'owner' | 'type'>): string =>
  JSON.stringify([owner, type, signature]);

const NOTHING = asked({});
const filingOf = (asked: Asked): Filing => ({ terms: termsAsked(asked), ranges: rangesAsked(asked) });

/** The distinct requirements of all tasks of one owner and type, by number and by signature. */
export class RequirementBook {
  readonly #rows = new Map<number, RequirementRow>();
  /** As they are matched; read when somebody first asks. */
  readonly #asked = new Map<number, Asked>();
  readonly #filings = new Map<number, Filing>();
  readonly #bySignature = new Map<string, number>();
  #next = 1;

  /** Takes in a row that the store has. */
  learn(row: RequirementRow): void {
    this.#rows.set(row.id, row);
    this.#bySignature.set(signOf(row), row.id);
    this.#next = Math.max(this.#next, row.id + 1);
  }

  /** The number of these requirements; `fresh` is the row to write when they are new. */
  number(
    journal: Journal,
    requirements: Requirements,
    { owner, type }: Lane = NO_LANE,
  ): { id: number; fresh: RequirementRow | null } {
    const signature = signatureOf(requirements);
    const known = this.#bySignature.get(signOf({ signature, owner, type }));
    if (known !== undefined) return { id: known, fresh: null };
    const row = { id: this.#next, signature, owner, type, document: JSON.stringify(requirements) };
    this.learn(row);
    journal.onRollback(() => this.#forget(row));
    return { id: row.id, fresh: row };
  }

  #forget(row: RequirementRow): void {
    this.#rows.delete(row.id);
    this.#asked.delete(row.id);
    this.#filings.delete(row.id);
    this.#bySignature.delete(signOf(row));
  }

  /** Whose the tasks are that ask this. */
  laneOf(id: number): Lane {
    return this.#rows.get(id) ?? NO_LANE;
  }

  /** What tells apart what is required, whoever requires it. */
  signature(id: number): string {
    return this.#rows.get(id)?.signature ?? '';
  }

  document(id: number): string {
    return this.#rows.get(id)?.document ?? '{}';
  }

  asked(id: number): Asked {
    const known = this.#asked.get(id);
    if (known) return known;
    const row = this.#rows.get(id);
    if (!row) return NOTHING;
    const read = asked(JSON.parse(row.document) as Requirements);
    this.#asked.set(id, read);
    return read;
  }

  /** By what tasks that ask this are found; made when one is first queued. */
  filing(id: number): Filing {
    const known = this.#filings.get(id);
    if (known) return known;
    const filing = { ...filingOf(this.asked(id)), lane: this.laneOf(id) };
    if (this.#rows.has(id)) this.#filings.set(id, filing);
    return filing;
  }
}
