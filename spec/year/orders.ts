/** What a year tells the process of its server. */
export type Order =
  /** Let time pass until this second of the wall clock; answered when all that came due has been done. */
  | { do: 'advance'; to: number }
  /** Kill yourself around the commit that many commits from now. */
  | { do: 'die'; when: 'before' | 'after'; commits: number }
  /** As on SIGHUP. */
  | { do: 'reload' }
  /** Collect what is garbage; answered with how much memory is left. */
  | { do: 'measure' };

export interface Answer {
  /** Of the order; 0 for the start. */
  id: number;
  said?: object;
  fault?: string;
}
