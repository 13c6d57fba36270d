import type { Logger } from 'pino';
import type { Backend } from '../backend.ts';
import type { ServiceFacts } from '../contract/route.ts';
import type { UploadMetrics } from '../metrics/upload-metrics.ts';
import type { Page } from '../ui/page-response.ts';
import type { ParserPool } from './parsing/parser-pool.ts';
import type { BodyBudget } from './request/body-budget.ts';
import type { Exchange } from './request/exchange.ts';
import type { RequestLog } from './request-log.ts';

/** What the handlers share. */
export interface Service {
  readonly backend: Backend;
  readonly facts: ServiceFacts;
  /** Largest artifact, in bytes. */
  readonly maxArtifactBytes: number;
  /** What JSON bodies may take of the memory, all together. */
  readonly bodies: BodyBudget;
  /** Where large bodies are read. */
  readonly parsers: ParserPool;
  readonly dashboard: () => Promise<Page>;
  readonly uploads: UploadMetrics;
  readonly requests: RequestLog;
  /** @throws ClusterError for a credential that has become void since the request was let in */
  readonly assertGranted: (exchange: Pick<Exchange, 'grant'>) => void;
  readonly log: Logger;
}
