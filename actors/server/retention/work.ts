import type { Logger } from 'pino';
import type { Clock } from '../../shared/clock.ts';
import type { BlobStore } from '../blobs/blob-store.ts';
import type { Store } from '../store/store.ts';
import type { Turn } from '../turn/turn.ts';
import type { Places } from './due-jobs.ts';
import type { Progress } from './progress.ts';
import type { RetentionSettings } from './settings.ts';

/** What the steps of a pass work with. */
export interface Work {
  readonly settings: RetentionSettings;
  readonly store: Store;
  readonly blobs: Pick<BlobStore, 'remove'>;
  readonly stateDir: string;
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
