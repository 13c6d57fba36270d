import { batchLifecycle } from './batch-lifecycle.ts';
import { echo } from './echo.ts';
import { latency } from './latency.ts';
import { lifecycle } from './lifecycle.ts';
import { list } from './list.ts';
import { matrix } from './matrix.ts';
import { submit } from './submit.ts';

/** How a load tells that it has connected, and waits until it may begin. */
export interface Control {
  ready(): Promise<void>;
}

/** The loads by name; each runs in a process of its own. */
export const loads = { batchLifecycle, echo, latency, lifecycle, list, matrix, submit };

export type Loads = typeof loads;
export type LoadName = keyof Loads;
