import fc from 'fast-check';
import { sequences } from './arbitraries.ts';
import type { LineKind } from './line.ts';
import type { Operation } from './operations.ts';
import { Player } from './player.ts';
import { NOTHING, type Played } from './side-by-side.ts';
import { System, type Tamper } from './system.ts';

export type { Played };

export interface ModelRun {
  seed: number;
  runs: number;
  line: LineKind;
  /** Operations a sequence has at most. */
  longest: number;
  /** Where a run goes on from, as fast-check printed it. */
  path?: string | undefined;
  /** Where the state directories are made. */
  base: string;
  /** To see that a fault is found. */
  tamper?: Tamper;
}

export interface ModelOutcome {
  played: Played;
  sequences: number;
  /** Null when every sequence agreed with the reference. */
  failure: string | null;
}

/** Plays random sequences on the real thing and on the reference; a failing one is cut down. */
export async function runModel(run: ModelRun): Promise<ModelOutcome> {
  const played: Played = { ...NOTHING };
  let count = 0;
  const property = fc.asyncProperty(sequences(run.longest), async (operations) => {
    const system = await System.start(run.base, run.line, run.tamper);
    const player = new Player(system);
    try {
      await player.play(operations);
    } finally {
      await system.close();
      count++;
      for (const key of Object.keys(played) as (keyof Played)[]) played[key] += player.played[key];
    }
  });
  const details = await fc.check(property, {
    seed: run.seed,
    numRuns: run.runs,
    ...(run.path === undefined ? {} : { path: run.path }),
  });
  return { played, sequences: count, failure: details.failed ? told(details, run) : null };
}

function told(details: fc.RunDetails<[Operation[]]>, { seed, line }: ModelRun): string {
  const { counterexamplePath, counterexample, errorInstance } = details;
  const steps = counterexample?.[0] ?? [];
  return [
    `the system and the reference differ: ${(errorInstance as Error | null)?.message}`,
    ...steps.map((step, i) => `  ${i}: ${JSON.stringify(step)}`),
    `again: npm run model -- --seed ${seed} --path ${counterexamplePath} --line ${line}`,
  ].join('\n');
}
