import type { Envelope } from './envelope.ts';
import type { Turn } from './turn.ts';

/** Something of the server's own, which has a turn to itself. */
export interface OwnWork {
  kind: 'work';
  work(turn: Turn): Promise<void>;
  resolve(): void;
  reject(error: unknown): void;
}

/** What a turn is taken for. */
export type Taken = Envelope | OwnWork;
