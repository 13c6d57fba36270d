import type { Logger } from 'pino';
import type { ServiceFacts } from '../contract/route.ts';
import type { ClusterPort } from '../ports.ts';
import type { BodyBudget } from './body-budget.ts';
import type { Page } from './page.ts';
import type { Readers } from './reading/readers.ts';

/** What the handlers share. */
export interface Service {
  readonly clusterPort: ClusterPort;
  readonly facts: ServiceFacts;
  /** Largest artifact, in bytes. */
  readonly maxArtifactBytes: number;
  /** What JSON bodies may take of the memory, all together. */
  readonly bodies: BodyBudget;
  /** Where large bodies are read. */
  readonly readers: Readers;
  readonly dashboard: () => Promise<Page>;
  readonly log: Logger;
}
