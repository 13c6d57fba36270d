// What `import … from 'jq-cluster/client'` gives (docs/protocol.md#a-client-in-typescript).

export { AppError } from '../../machines/protocol/app-error.ts';
export type { Right } from '../../machines/protocol/rights.ts';
export type { DemandView } from '../../machines/schema/demand.ts';
export type { JobSpec } from '../../machines/schema/job.ts';
export type { ServersView } from '../../machines/schema/servers.ts';
export type {
  ArtifactView,
  ClusterStats,
  EventView,
  JobView,
  TaskView,
  WorkerView,
} from '../../machines/schema/views.ts';
export type { JsonName, UploadName } from './calls.ts';
export { type ClientOptions, ClusterClient } from './client.ts';
export { InvalidResponseError, ResponseError, UnreachableError, UntrustedError } from './errors.ts';
export { type EventFrame, eventFrames, eventStream, type StreamOptions } from './event-stream.ts';
