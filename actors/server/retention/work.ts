import type { Logger } from 'pino';
import type { Clock } from '../../shared/clock.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { Store } from '../store/store.ts';
import type { Turn } from '../turn/turn.ts';
import type { Progress } from './progress.ts';
import type { RetentionSettings } from './settings.ts';

/** What goes of jobs, each after a time of its own. */
export type What = 'logs' | 'artifacts' | 'events' | 'jobs';

/** Where a look at the jobs that have ended goes on, by what it is for. */
export type Places = Map<What, { updated_at: number; seq: number }>;

/** What the steps of a pass work with. */
export interface Work {
  readonly settings: RetentionSettings;
  readonly store: Store;
  readonly blobs: Pick<BlobStore, 'remove' | 'leftovers'>;
  readonly stateDir: string;
  /** The time by which is judged how old something is, in seconds since the epoch: it lags where the clock is doubted. */
  readonly time: { believed: number };
  readonly clock: Clock;
  readonly log: Logger;
  readonly progress: Progress;
  /** Where looks at jobs go on. */
  readonly places: Places;
  /** Does something in a turn of its own; resolves once that is durable. */
  alone(work: (turn: Turn) => Promise<void>): Promise<void>;
}

/** A part of a pass, in slices: it yields where it may rest. */
export type Step = (work: Work) => AsyncGenerator<void, void, void>;
