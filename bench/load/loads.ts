import { batchLifecycle } from './batch-lifecycle.ts';
import { cancel } from './cancel.ts';
import { depth } from './depth.ts';
import { echo } from './echo.ts';
import { fill } from './fill.ts';
import { firstLease } from './first-lease.ts';
import { follow } from './follow.ts';
import { latency } from './latency.ts';
import { lifecycle } from './lifecycle.ts';
import { list } from './list.ts';
import { matrix } from './matrix.ts';
import { occupy } from './occupy.ts';
import { soak } from './soak.ts';
import { stall } from './stall.ts';
import { submit } from './submit.ts';
import { tick } from './tick.ts';
import { transfer } from './transfer.ts';

/** How a load tells that it has connected, and waits until it may begin. */
export interface Control {
  ready(): Promise<void>;
}

/** The loads by name; each runs in a process of its own. */
export const loads = {
  batchLifecycle,
  cancel,
  depth,
  echo,
  fill,
  firstLease,
  follow,
  latency,
  lifecycle,
  list,
  matrix,
  occupy,
  soak,
  stall,
  submit,
  tick,
  transfer,
};

export type Loads = typeof loads;
export type LoadName = keyof Loads;
