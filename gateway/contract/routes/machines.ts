import { Type } from 'typebox';
import { asciiOf } from '../../../machines/charts/ascii.ts';
import { MACHINE_NAMES, MACHINES, type MachineName } from '../../../machines/charts/catalogue.ts';
import { machineJson } from '../../../machines/charts/config.ts';
import { chartOf } from '../../../machines/charts/graph.ts';
import { mermaidOf } from '../../../machines/charts/mermaid.ts';
import { ClusterError } from '../../../machines/errors.ts';
import { AnyObject, Nullable, Words } from '../../../machines/schema/common.ts';
import { json, PlainText } from '../route.ts';

const ChartState = Type.Object({
  id: Type.String(),
  key: Type.String(),
  type: Words(['atomic', 'compound', 'parallel', 'final', 'history']),
  parent: Nullable(Type.String()),
  initial: Type.Boolean(),
  invokes: Type.Array(Type.String()),
});

const ChartArrow = Type.Object({
  from: Type.String(),
  to: Type.String(),
  event: Type.String(),
  guard: Nullable(Type.String()),
  actions: Type.Array(Type.String()),
});

const MachineView = Type.Object({
  name: Words(MACHINE_NAMES),
  what: Type.String(),
  config: AnyObject,
  chart: Type.Object({ states: Type.Array(ChartState), arrows: Type.Array(ChartArrow) }),
  counts: Type.Record(Type.String(), Type.Integer(), {
    description: 'state id to how many actors are in it now; states that the server cannot see are left out',
  }),
});

/** The statecharts that run, for people and for Stately's tools. */
export const machines = {
  listMachines: json({
    verb: 'get',
    path: '/v1/machines',
    summary: 'Every statechart: its definition, its states and arrows, and how many actors are in each state',
    right: 'read',
    tag: 'cluster',
    reply: Type.Array(MachineView),
    run: ({ port }) =>
      MACHINE_NAMES.map((name) => {
        const { machine, what } = MACHINES[name];
        const counts = port.reads.stateCounts(name);
        return { name, what, config: machineJson(machine), chart: chartOf(machine), counts };
      }),
  }),
  getMachine: json({
    verb: 'get',
    path: '/v1/machines/{name}',
    summary: "One statechart's definition, as Stately's editor and the XState visualizer import it",
    right: 'read',
    tag: 'cluster',
    query: Type.Object({ format: Type.Optional(Words(['xstate', 'mermaid', 'ascii'])) }),
    reply: AnyObject,
    text: 'with `format=mermaid` and `format=ascii`',
    errors: ['unknown_id'],
    run: ({ params, query }) => {
      const name = params.name as MachineName;
      if (!MACHINE_NAMES.includes(name)) throw ClusterError.unknown('machine', String(name));
      const { machine } = MACHINES[name];
      if (query.format === 'mermaid') return new PlainText(mermaidOf(chartOf(machine)));
      if (query.format === 'ascii') return new PlainText(asciiOf(chartOf(machine)));
      return machineJson(machine);
    },
  }),
};
