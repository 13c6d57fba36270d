import type { Workload } from '../workload.ts';
import { generator } from './generator.ts';
import { latency } from './latency.ts';
import { batchLifecycle, lifecycle } from './lifecycle.ts';
import { list } from './list.ts';
import { matrix } from './matrix.ts';
import { peers } from './peers.ts';
import { submit } from './submit.ts';

/** All workloads, in the order of the report. */
export const WORKLOADS: readonly Workload[] = [
  generator,
  peers,
  submit,
  lifecycle,
  batchLifecycle,
  matrix,
  latency,
  list,
];
