import type { AnyStateMachine } from 'xstate';
import { agentMachine } from '../agent/agent.ts';
import { attemptMachine } from '../attempt/attempt.ts';
import { templateMachine } from '../fleet/template.ts';
import { hostMachine } from '../host.ts';
import { jobMachine } from '../job/job.ts';
import { notificationMachine } from '../notification.ts';
import { reignMachine } from '../reign.ts';
import { supervisorMachine } from '../supervisor.ts';
import { taskMachine } from '../task/task.ts';
import { workerMachine } from '../worker/worker.ts';
import type { MachineName } from './names.ts';

/** Every statechart of the system. Those of jobs, tasks and workers run compiled, and mean the same. */
export const MACHINES: Readonly<Record<MachineName, { machine: AnyStateMachine; what: string }>> = {
  job: { machine: jobMachine, what: 'a job: one request of a client, done when all its tasks have ended' },
  task: { machine: taskMachine, what: 'a task: the unit that is leased to one worker' },
  worker: { machine: workerMachine, what: 'a worker as the server sees it' },
  supervisor: { machine: supervisorMachine, what: 'the supervisor of the server' },
  agent: { machine: agentMachine, what: 'the worker program: its link to the server and its duty' },
  run: { machine: attemptMachine, what: 'one attempt at a task, inside the worker program' },
  host: {
    machine: hostMachine,
    what: 'the warm host of a runner, from which the worker program has attempts forked',
  },
  notification: {
    machine: notificationMachine,
    what: 'that a job has ended, on its way to the receiver of notifications',
  },
  template: {
    machine: templateMachine,
    what: 'a template of a fleet: whether it asks for allocations, or pauses after failures',
  },
  reign: {
    machine: reignMachine,
    what: 'a server beside others on one database: who leads, and who stands by',
  },
};
