import type { Act } from './acts.ts';
import { tell } from './rules.ts';
import { type Answer, done, heldBy, holderOf, refused, tasksOf, type World } from './world.ts';

type Operating = 'pause' | 'resume' | 'priority' | 'drain' | 'undrain';

/** What operators do, and what they are answered. */
export const OPERATE: { [A in Operating]: (world: World, act: Extract<Act, { act: A }>) => Answer } = {
  pause(world, { scope }) {
    if (!world.paused.includes(scope)) {
      world.paused.push(scope);
      tell(world, { type: 'queue_paused', worker: null });
    }
    return done({ paused: [...world.paused].sort() });
  },

  resume(world, { scope }) {
    if (!world.paused.includes(scope)) return refused(409, 'illegal_transition');
    world.paused = world.paused.filter((other) => other !== scope);
    tell(world, { type: 'queue_resumed', worker: null });
    return done({ paused: [...world.paused].sort() });
  },

  priority(world, { job: name, priority }) {
    const job = world.jobs[name] as World['jobs'][string];
    if (job.priority !== priority) {
      if (job.status !== 'queued' && job.status !== 'running') return refused(409, 'illegal_transition');
      job.priority = priority;
      for (const task of tasksOf(world, name)) task.priority = priority;
      tell(world, { type: 'job_changed', job: name });
    }
    return done({ job: name, status: job.status });
  },

  drain(world, { worker: name }) {
    holderOf(world, name).drained = true;
    tell(world, { type: 'worker_drain_ordered', worker: name });
    if (heldBy(world, name).length === 0) tell(world, { type: 'worker_drained', worker: name });
    return done({ operated: name });
  },

  undrain(world, { worker: name }) {
    const worker = holderOf(world, name);
    if (!worker.drained) return refused(409, 'illegal_transition');
    worker.drained = false;
    tell(world, { type: 'worker_drain_lifted', worker: name });
    return done({ operated: name });
  },
};
