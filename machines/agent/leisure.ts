import { and, not } from 'xstate';
import { agent } from './setup.ts';

/** Whether there is anything to do. A worker that was told to ends once there has been nothing for long enough. */
export const leisure = agent.createStateConfig({
  initial: 'busy',
  states: {
    busy: { always: { guard: and(['isIdle', 'endsWhenIdle']), target: 'free' } },
    free: {
      always: { guard: not('isIdle'), target: 'busy' },
      after: { idleTime: { target: 'over' } },
    },
    over: { entry: 'endCalmly' },
  },
});
