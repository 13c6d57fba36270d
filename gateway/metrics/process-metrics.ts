import { readdir } from 'node:fs/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import type { Metrics } from './metrics.ts';

/** Milliseconds between two looks at the event loop; a look that is in time counts as so many late. */
const RESOLUTION = 20;
/** Milliseconds of one period; what is told is of the last whole one and the one under way. */
const PERIOD = 30_000;
const STATISTICS = { median: 50, p99: 99, worst: 100 };

/**
 * What Prometheus' libraries tell of any process, under the same names, and how late the event loop is.
 * @returns the way to stop
 */
export function processMetrics(metrics: Metrics, version: string): () => void {
  metrics.gauge('jq_build_info', 'Which program this is; always 1', ['version', 'node'], (tell) =>
    tell(1, { version, node: process.versions.node }),
  );
  const startedAt = Date.now() / 1000 - process.uptime();
  metrics.gauge('process_start_time_seconds', 'When the process started, in seconds since 1970', [], (tell) =>
    tell(startedAt),
  );
  metrics.counter('process_cpu_seconds_total', 'Processor time that the process has taken', [], (tell) => {
    const { user, system } = process.cpuUsage();
    tell((user + system) / 1e6);
  });
  metrics.gauge('process_resident_memory_bytes', 'Memory of the process that is in RAM', [], (tell) =>
    tell(process.memoryUsage.rss()),
  );
  metrics.gauge(
    'process_open_fds',
    'Open file descriptors; 0 where the system does not tell',
    [],
    async (tell) => tell((await readdir('/proc/self/fd').catch(() => [])).length),
  );
  return eventLoopDelay(metrics);
}

function eventLoopDelay(metrics: Metrics): () => void {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION });
  const look = () =>
    Object.values(STATISTICS).map(
      (percentile) => Math.max(0, delay.percentile(percentile) / 1e6 - RESOLUTION) / 1000,
    );
  let last = [0, 0, 0];
  delay.enable();
  const timer = setInterval(() => {
    last = look();
    delay.reset();
  }, PERIOD).unref();
  metrics.gauge(
    'jq_event_loop_delay_seconds',
    'How late the event loop served what was due, in the last half to whole minute',
    ['statistic'],
    (tell) => {
      const now = look();
      for (const [i, statistic] of Object.keys(STATISTICS).entries())
        tell(Math.max(last[i] as number, now[i] as number), { statistic });
    },
  );
  return () => {
    clearInterval(timer);
    delay.disable();
  };
}
