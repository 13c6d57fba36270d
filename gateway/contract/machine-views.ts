import { asciiOf } from '../../machines/charts/ascii.ts';
import { MACHINES } from '../../machines/charts/catalogue.ts';
import { type Json, machineJson } from '../../machines/charts/config.ts';
import { type Chart, chartOf } from '../../machines/charts/graph.ts';
import { mermaidOf } from '../../machines/charts/mermaid.ts';
import type { MachineName } from '../../machines/charts/names.ts';

export interface MachineDescription {
  name: MachineName;
  what: string;
  config: { [key: string]: Json };
  chart: Chart;
}

export function describeMachine(name: MachineName): MachineDescription {
  const { machine, what } = MACHINES[name];
  return { name, what, config: machineJson(machine), chart: chartOf(machine) };
}

/**
 * The counts on all states of a chart: those that are not told have none in them, and the machine itself has as many
 * as the states right below it. Empty where nothing is known.
 */
export function countsOnAll(
  { states }: Chart,
  known: Readonly<Record<string, number>>,
): Record<string, number> {
  if (Object.keys(known).length === 0) return {};
  const below = states.filter(({ parent }) => parent === states[0]?.id);
  const all = below.reduce((sum, { id }) => sum + (known[id] ?? 0), 0);
  return Object.fromEntries(states.map(({ id, parent }) => [id, parent === null ? all : (known[id] ?? 0)]));
}

/** A machine as text for people. */
export function drawMachine(name: MachineName, format: 'mermaid' | 'ascii'): string {
  const chart = chartOf(MACHINES[name].machine);
  return format === 'mermaid' ? mermaidOf(chart) : asciiOf(chart);
}
