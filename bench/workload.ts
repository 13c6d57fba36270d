import type { Bench } from './bench.ts';
import type { Usage } from './measure/server.ts';

/** '' is a bare number. */
export type Unit = '' | '/s' | 'µs' | 'ms' | 's' | '×' | 'B' | 'MiB' | 'MiB/s';

/** A bound on a figure: a number in the figure's unit, or so many times another figure. */
export interface Target {
  bound: 'at least' | 'at most';
  value: number;
  /** Id of the figure that `value` multiplies. */
  of?: string;
}

/** One figure of one run. */
export interface Reading {
  /** Names the figure over all runs, `workload.figure`. */
  id: string;
  what: string;
  unit: Unit;
  /** Several where one run of a costly workload measures more than once. */
  value: number | readonly number[];
  targets?: readonly Target[];
  /** What the server used meanwhile. */
  server?: Usage;
  /** How many tasks, requests, … the processor time is to be divided by. */
  per?: { count: number; what: string };
  /** Processor time of the generator over the time measured, 1 being a whole core. */
  generatorLoad?: number;
}

/** What can be measured: one run of it gives readings; the bench takes medians over several runs. */
export interface Workload {
  readonly name: string;
  /** What is done, in a sentence or two for the report. */
  readonly about: string;
  /** Runs at most, for those that take minutes. */
  readonly maxRuns?: number;
  /** Whether it is left out unless it is named. */
  readonly onlyWhenNamed?: boolean;
  /** @throws Error when a sanity check fails: something was not accepted, not delivered, not the right one */
  run(bench: Bench): Promise<Reading[]>;
}

export const atLeast = (value: number, of?: string): Target => ({
  bound: 'at least',
  value,
  ...(of ? { of } : {}),
});
export const atMost = (value: number, of?: string): Target => ({
  bound: 'at most',
  value,
  ...(of ? { of } : {}),
});
