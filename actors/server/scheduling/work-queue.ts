import { Backoffs } from './backoffs.ts';
import { Demands } from './demands.ts';
import { Profiles } from './profiles.ts';
import { QueueIndex } from './queue-index.ts';
import { RequirementBook } from './requirements.ts';

/** What is queued, and who may run it. */
export class WorkQueue {
  readonly requirements = new RequirementBook();
  /** What some tasks ask beyond that. */
  readonly demands = new Demands();
  /** What workers may run of it. */
  readonly profiles = new Profiles(this.requirements, this.demands);
  readonly index = new QueueIndex((key) => this.profiles.filingOf(key));
  /** Tasks that wait after a failure before they are in the index. */
  readonly backoffs = new Backoffs();
}
