import type { Lease } from '../../../machines/attempt/attempt.ts';
import type { Persistence } from '../link/persist.ts';
import type { Artifacts } from './artifacts.ts';
import type { Held } from './cache/cache.ts';
import type { Catalog } from './catalog/catalog.ts';

/** What placing one input needs. */
export interface InputContext {
  lease: Lease;
  artifacts: Artifacts;
  /** Folder for what is downloaded, unpacked or written. */
  folder: string;
  allowPython: boolean;
  datasets: Readonly<Record<string, string>>;
  /** Null where the worker was given none. */
  catalog: Catalog | null;
  persistence: Persistence;
  /** Keeps something in place until nothing of the attempt needs it any more. `what`: how messages call it. */
  hold(what: string, held: Held): void;
  /** Writes a line to the task's log. */
  note(line: string): void;
}
