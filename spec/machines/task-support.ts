import { type LeaseEnd, type TaskContext, taskMachine } from '../../machines/task/task.ts';
import { Driven } from './drive.ts';
import { heldTask } from './samples.ts';

export const task = (state: string, context: TaskContext) => new Driven(taskMachine, state, context);

export const held = (state: string, changes: Partial<TaskContext> = {}) => task(state, heldTask(changes));

export const last = { attempt: 2, max_attempts: 2 };

export const ended = (why: LeaseEnd) => ({ type: 'lease_ended', worker_id: 'worker_1', why });
