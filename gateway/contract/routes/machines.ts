import { Type } from 'typebox';
import { MACHINE_NAMES, type MachineName } from '../../../machines/charts/names.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import { AnyObject, Nullable, Words } from '../../../machines/schema/common.ts';
import { json, PlainText } from '../route.ts';

const ChartState = Type.Object({
  id: Type.String(),
  key: Type.String(),
  type: Words(['atomic', 'compound', 'parallel', 'final', 'history']),
  parent: Nullable(Type.String()),
  initial: Type.Boolean(),
  invokes: Type.Array(Type.String()),
  entry: Type.Array(Type.String()),
  exit: Type.Array(Type.String()),
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
    description:
      'every state, and the machine itself, by its id: how many actors are in it now; empty for machines that run ' +
      'inside worker programs, where the server cannot see them',
  }),
});

const ActorView = Type.Object({
  value: Type.Unknown({ description: 'of XState: `"queued"`, `{"running": "executing"}`' }),
  context: Type.Record(Type.String(), Type.Unknown(), {
    description: 'what guards and actions read; texts of more than 2,000 characters are cut',
  }),
});

/** The clients share this table and start faster without the machines. */
const charts = () => import('../machine-views.ts');

/** The statecharts that run, for people and for Stately's tools. */
export const machines = {
  listMachines: json({
    method: 'get',
    path: '/v1/machines',
    summary: 'Every statechart: its definition, its states and arrows, and how many actors are in each state',
    right: 'read',
    tag: 'cluster',
    reply: Type.Array(MachineView),
    run: async ({ backend }) => {
      const { describeMachine, countsOnAll } = await charts();
      const machines = MACHINE_NAMES.map(async (name) => {
        const machine = describeMachine(name);
        return { ...machine, counts: countsOnAll(machine.chart, await backend.reads.stateCounts(name)) };
      });
      return Promise.all(machines);
    },
  }),
  getMachine: json({
    method: 'get',
    path: '/v1/machines/{name}',
    summary: "One statechart's definition, as Stately's editor and the XState visualizer import it",
    right: 'read',
    tag: 'cluster',
    query: Type.Object({ format: Type.Optional(Words(['xstate', 'mermaid', 'ascii'])) }),
    reply: AnyObject,
    text: 'with `format=mermaid` and `format=ascii`',
    errors: ['unknown_id'],
    run: async ({ params, query: { format } }) => {
      const name = params.name as MachineName;
      if (!MACHINE_NAMES.includes(name)) throw ClusterError.unknown('machine', String(name));
      const { describeMachine, drawMachine } = await charts();
      if (format === 'mermaid' || format === 'ascii') return new PlainText(drawMachine(name, format));
      return describeMachine(name).config;
    },
  }),
  getActor: json({
    method: 'get',
    path: '/v1/machines/{name}/actors/{id}',
    summary:
      'A job, task or worker as its statechart sees it: its state and its context, as they are committed',
    right: 'read',
    tag: 'cluster',
    reply: ActorView,
    errors: ['unknown_id'],
    run: async ({ backend, params }) => {
      const name = params.name as MachineName;
      if (!MACHINE_NAMES.includes(name)) throw ClusterError.unknown('machine', String(name));
      return backend.reads.actor(name, params.id as string);
    },
  }),
};
