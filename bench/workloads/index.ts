import type { Workload } from '../workload.ts';
import { artifacts } from './artifacts.ts';
import { cancel } from './cancel.ts';
import { depth } from './depth.ts';
import { fanOut } from './fan-out.ts';
import { functions } from './functions.ts';
import { generator } from './generator.ts';
import { inputs } from './inputs.ts';
import { latency } from './latency.ts';
import { batchLifecycle, lifecycle } from './lifecycle.ts';
import { list } from './list.ts';
import { matrix } from './matrix.ts';
import { moments } from './moments.ts';
import { noop } from './noop.ts';
import { peers } from './peers.ts';
import { requirements } from './requirements.ts';
import { restart } from './restart.ts';
import { soak } from './soak.ts';
import { stall } from './stall.ts';
import { startUp } from './start-up.ts';
import { stores } from './stores.ts';
import { submit } from './submit.ts';
import { sweep } from './sweep.ts';
import { transports } from './transports.ts';

/** All workloads, in the order of the report. */
export const WORKLOADS: readonly Workload[] = [
  generator,
  peers,
  submit,
  lifecycle,
  batchLifecycle,
  matrix,
  transports,
  stores,
  latency,
  cancel,
  stall,
  moments,
  depth,
  requirements,
  restart,
  fanOut,
  list,
  artifacts,
  inputs,
  noop,
  sweep,
  soak,
  startUp,
  functions,
];
