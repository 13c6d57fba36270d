import type { Route } from '../contract/route.ts';
import { Distribution } from './distribution.ts';
import type { Metrics } from './metrics.ts';

/** Seconds. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/** A request that no route is for. */
const NO_ROUTE = { method: 'none', route: 'none' };

/** The requests that were answered, by what they were for. */
export class HttpMetrics {
  /** By route and status; null: no route. */
  readonly #counts = new Map<Route | null, Map<number, number>>();
  readonly #seconds = new Map<Route | null, Distribution>();

  /** @param inFlight how many requests are under way */
  constructor(metrics: Metrics, inFlight: () => number) {
    metrics.counter(
      'jq_http_requests_total',
      'Requests by route and status; status gone: the client went away before its answer; route none: no such path, or another method',
      ['method', 'route', 'status'],
      (tell) => {
        for (const [route, byStatus] of this.#counts)
          for (const [status, count] of byStatus)
            tell(count, { ...labelsOf(route), status: status === 0 ? 'gone' : String(status) });
      },
    );
    metrics.histogram(
      'jq_http_request_duration_seconds',
      'From the head of a request to the end of its answer; leases and heartbeats may wait by intention',
      ['method', 'route'],
      (tell) => {
        for (const [route, seconds] of this.#seconds) tell(seconds, labelsOf(route));
      },
    );
    metrics.gauge('jq_http_requests_in_flight', 'Requests that are being answered', [], (tell) =>
      tell(inFlight()),
    );
  }

  /** @param status 0: the client went away unanswered */
  finished(route: Route | null, status: number, seconds: number): void {
    let byStatus = this.#counts.get(route);
    if (!byStatus) {
      byStatus = new Map();
      this.#counts.set(route, byStatus);
      this.#seconds.set(route, new Distribution(BUCKETS));
    }
    byStatus.set(status, (byStatus.get(status) ?? 0) + 1);
    this.#seconds.get(route)?.observe(seconds);
  }
}

const labelsOf = (route: Route | null) =>
  route === null ? NO_ROUTE : { method: route.method.toUpperCase(), route: route.path };
