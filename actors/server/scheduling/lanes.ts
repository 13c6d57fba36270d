import { TIME_CLASSES } from './time-class.ts';

/** Whose a queued task is, and of which type. */
export interface Lane {
  readonly owner: string;
  readonly type: string;
}

/** Of tasks whose job is not known by these. */
export const NO_LANE: Lane = { owner: '', type: '' };

/**
 * Requirements are numbered below it. What is above tells apart tasks that require the same: a class of times, or from
 * `TIME_CLASSES` on the number of a job.
 */
const WIDTH = 2 ** 24;

/** Under which the tasks of a job are queued by themselves: its requirement and its job in one number. */
export const keyInJob = (requirement: number, job: number): number =>
  requirement + (TIME_CLASSES + job) * WIDTH;

/** Under which tasks are queued that may take as long: their requirement and the class of that time in one number. */
export const keyInClass = (requirement: number, timeClass: number): number => requirement + timeClass * WIDTH;

/** The requirement of a key that is no exclusion. */
export const requirementOf = (key: number): number => key % WIDTH;

/** The number of the job that stands in a key; 0 where none does. */
export const jobOf = (key: number): number => Math.max(0, Math.floor(key / WIDTH) - TIME_CLASSES);

/** The class of times that stands in a key; 0 where none does. */
export const timeClassOf = (key: number): number => {
  const part = Math.floor(key / WIDTH);
  return part < TIME_CLASSES ? part : 0;
};
