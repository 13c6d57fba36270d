import { withModel } from '../jobs/models.ts';
import type { Handler } from './handler.ts';
import { assertArtifacts, namedBy } from './submit-job.ts';

/** Whether a job would be taken, as far as the store has a say in it. */
export const checkJob: Handler<'check_job'> = {
  preload: ({ job }) => namedBy(job),
  whenStoreFails: 'answer',
  handle(message, { turn, preloaded }) {
    assertArtifacts(message.job, preloaded);
    withModel(message, turn, preloaded);
    return { ok: true };
  },
};
