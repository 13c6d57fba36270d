import { Measures } from '../../../actors/server/metrics/measures.ts';
import { notifyMetrics } from '../../../actors/server/metrics/notify-metrics.ts';
import { objectMetrics } from '../../../actors/server/metrics/object-metrics.ts';
import { queueMetrics } from '../../../actors/server/metrics/queue-metrics.ts';
import { retentionMetrics } from '../../../actors/server/metrics/retention-metrics.ts';
import { storeMetrics } from '../../../actors/server/metrics/store-metrics.ts';
import { workerMetrics } from '../../../actors/server/metrics/worker-metrics.ts';
import { WorkerMetrics } from '../../../actors/worker/metrics/worker-metrics.ts';
import { HttpMetrics } from '../../../gateway/metrics/http-metrics.ts';
import { type Described, Metrics } from '../../../gateway/metrics/metrics.ts';
import { processMetrics } from '../../../gateway/metrics/process-metrics.ts';
import { StreamMetrics } from '../../../gateway/metrics/stream-metrics.ts';
import { tlsMetrics } from '../../../gateway/metrics/tls-metrics.ts';
import { UploadMetrics } from '../../../gateway/metrics/upload-metrics.ts';
import { table } from './table.ts';

/** What is asked only when somebody reads the metrics, which nobody does here. */
const UNASKED = {} as never;

/** Every metric of a server, in the order in which it tells them. */
export function serverMetrics(): readonly Described[] {
  const metrics = new Metrics();
  new Measures(metrics, UNASKED);
  queueMetrics(metrics, UNASKED);
  workerMetrics(metrics, UNASKED);
  storeMetrics(metrics, UNASKED);
  objectMetrics(metrics, UNASKED);
  retentionMetrics(metrics, UNASKED, UNASKED);
  notifyMetrics(metrics, undefined, UNASKED, UNASKED);
  new StreamMetrics(metrics, () => 0);
  processMetrics(metrics, '')();
  tlsMetrics(metrics, () => undefined);
  new UploadMetrics(metrics);
  new HttpMetrics(metrics, () => 0);
  return metrics.described;
}

/** Every metric of a worker program, in the order in which it tells them. */
export function workerProgramMetrics(): readonly Described[] {
  const own = new WorkerMetrics();
  processMetrics(own.metrics, '')();
  own.watch(UNASKED);
  return own.metrics.described;
}

/** A table of metrics. */
export const metricsTable = (described: readonly Described[]): string =>
  table(
    ['Metric', 'Type', 'Labels', 'What it tells'],
    described.map(({ name, type, labels, help }) => [
      `\`${name}\``,
      type,
      labels.map((label) => `\`${label}\``).join(', '),
      help,
    ]),
  );
