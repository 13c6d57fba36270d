import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { median } from './load/quantiles.ts';
import type { Reading, Target, Unit } from './workload.ts';

const FILE = fileURLToPath(new URL('figures.json', import.meta.url));

/** A figure over all runs of its workload. */
export interface Figure {
  id: string;
  workload: string;
  what: string;
  unit: Unit;
  values: number[];
  targets: Target[];
  /** Processor time of the server per unit of work, microseconds, a run each. */
  cpuMicroseconds?: { values: number[]; per: string };
  /** Highest memory of the server, bytes, a run each. */
  peakBytes?: number[];
  generatorLoad?: number[];
  measured: string;
}

/** The figures of all workloads, as last measured. */
export type Figures = Record<string, Figure>;

export function loadFigures(file: string = FILE): Figures {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Figures) : {};
}

export function saveFigures(figures: Figures, file: string = FILE): void {
  writeFileSync(file, `${JSON.stringify(figures, null, 2)}\n`);
}

/** Replaces what was known of the workloads measured, and of them only. */
export function mergeFigures(known: Figures, measured: Figures): Figures {
  const replaced = new Set(Object.values(measured).map((figure) => figure.workload));
  const kept = Object.entries(known).filter(([, figure]) => !replaced.has(figure.workload));
  return { ...Object.fromEntries(kept), ...measured };
}

/** The readings of several runs of one workload, as figures. */
export function figuresOf(workload: string, runs: readonly Reading[][], measured: string): Figures {
  const figures: Figures = {};
  for (const reading of runs.flat()) {
    const { id, what, unit, targets = [] } = reading;
    figures[id] ??= { id, workload, what, unit, values: [], targets: [...targets], measured };
    addReading(figures[id], reading);
  }
  return figures;
}

function addReading(figure: Figure, { value, server, per, generatorLoad }: Reading): void {
  figure.values.push(...(typeof value === 'number' ? [value] : value));
  if (server) figure.peakBytes = [...(figure.peakBytes ?? []), server.peakBytes];
  if (server && per) {
    figure.cpuMicroseconds ??= { values: [], per: per.what };
    figure.cpuMicroseconds.values.push((server.cpuSeconds / per.count) * 1e6);
  }
  if (generatorLoad !== undefined) figure.generatorLoad = [...(figure.generatorLoad ?? []), generatorLoad];
}

/** A target beside what was reached. `known` is false while the figure it refers to was never measured. */
export interface Verdict {
  target: Target;
  known: boolean;
  /** The bound in the figure's own unit. */
  limit: number;
  /** The figure over the target's reference: another figure, or the bound itself. */
  ratio: number;
  reached: boolean;
}

export function judge(figure: Figure, figures: Figures): Verdict[] {
  return figure.targets.map((target) => {
    const other = target.of === undefined ? undefined : figures[target.of];
    const known = target.of === undefined || other !== undefined;
    const reference = other ? median(other.values) : target.of === undefined ? target.value : Number.NaN;
    const limit = target.of === undefined ? target.value : reference * target.value;
    const value = median(figure.values);
    const reached = target.bound === 'at least' ? value >= limit : value <= limit;
    return { target, known, limit, ratio: value / reference, reached: known && reached };
  });
}
