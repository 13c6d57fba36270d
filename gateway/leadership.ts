import { ClusterError } from '../machines/protocol/errors.ts';

/** Whether a server leads on its store, and who else does, as far as requests are concerned. */
export interface Leadership {
  /** Whether this one leads, and so answers everything itself. */
  readonly leads: boolean;
  /** Where the one that leads is reached, this one or another; null where that is not known. The same object as long as it is the same. */
  readonly leader: { readonly url: string } | null;
  /** What is said where nobody can be asked. */
  readonly refusal: ClusterError;
  /** Calls back when another one leads; returns the way to stop. */
  onChange(listener: () => void): () => void;
}

/** Of a server that has its store for itself. */
export const ALONE: Leadership = {
  leads: true,
  leader: null,
  get refusal() {
    return new ClusterError('standing_by', 'this server is not ready; try again in a moment');
  },
  onChange: () => () => {},
};

/** What is asked of a server that stands by, and is known only to the one that leads. */
export class LeaderOnly extends ClusterError {
  constructor() {
    super('standing_by', 'this server stands by, and only the one that leads knows the answer');
  }
}
