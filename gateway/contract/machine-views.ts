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

/** A machine as text for people. */
export function drawMachine(name: MachineName, format: 'mermaid' | 'ascii'): string {
  const chart = chartOf(MACHINES[name].machine);
  return format === 'mermaid' ? mermaidOf(chart) : asciiOf(chart);
}
