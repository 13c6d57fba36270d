/** Those whose tasks stand together in a line: who takes turns with others, or who is held back as a whole. */
export interface Group {
  /** When it was served last, where it takes turns; null: first in, first out. It only ever grows. */
  turn: number | null;
  readonly isShut: boolean;
}
