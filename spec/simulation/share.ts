import { appendFileSync } from 'node:fs';
import { ownFolder } from '../model/base.ts';
import { playShares } from '../support/spread.ts';
import { type Simulated, simulate } from './run.ts';
import { playTime } from './time.ts';

export interface SimulationShare {
  seed: number;
  hours: number;
  /** A file that the trace is appended to. */
  trace?: string | undefined;
}

export type SimulationOutcome = { run: Simulated; took: number } | { failure: string };

const base = ownFolder();
playTime();

async function play({ seed, hours, trace }: SimulationShare): Promise<SimulationOutcome> {
  const from = Date.now();
  const onLine = trace === undefined ? {} : { onLine: (line: string) => appendFileSync(trace, `${line}\n`) };
  // What is thrown where nobody waits for it is a broken promise too.
  let uncaught: (fault: Error) => void = () => {};
  const thrown = new Promise<never>((_, reject) => {
    uncaught = reject;
  });
  process.once('uncaughtException', uncaught);
  try {
    const run = await Promise.race([simulate({ seed, hours, base, ...onLine }), thrown]);
    return { run, took: (Date.now() - from) / 1000 };
  } catch (fault) {
    return { failure: (fault as Error).message };
  } finally {
    process.off('uncaughtException', uncaught);
  }
}

playShares(play);
