import { Type } from 'typebox';
import { Seconds } from './common.ts';

/** When a job will have ended. */
export const EstimateView = Type.Object(
  {
    ends_at: Seconds,
    earliest: Seconds,
    latest: Seconds,
    num_timed: Type.Integer({ description: 'from how many tasks this is known' }),
  },
  {
    description:
      'when a running job will have ended, if what is left is like what has ended; likely between `earliest` and `latest`',
  },
);
