/** Whose a queued task is, and of which type. */
export interface Lane {
  readonly owner: string;
  readonly type: string;
}

/** Of tasks whose job is not known by these. */
export const NO_LANE: Lane = { owner: '', type: '' };

/** Requirements are numbered below it; what is above is the number of a job. */
const WIDTH = 2 ** 24;

/** Under which a task is queued where jobs take turns: its requirement and its job in one number. */
export const keyInJob = (requirement: number, job: number): number => requirement + job * WIDTH;

/** The requirement of a key that is no demand. */
export const requirementOf = (key: number): number => key % WIDTH;

/** The number of the job that stands in a key; 0 where none does. */
export const jobOf = (key: number): number => Math.floor(key / WIDTH);
