import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AnyStateMachine } from 'xstate';
import { getStateNodes } from 'xstate/graph';
import { jobMachine } from '../../machines/job/job.ts';
import { type SupervisorEvent, supervisorMachine } from '../../machines/supervisor.ts';
import { taskMachine } from '../../machines/task/task.ts';
import { workerMachine } from '../../machines/worker/worker.ts';
import { Driven } from './drive.ts';
import { JOB_TABLE } from './job-table.ts';
import {
  DRAIN_ORDER,
  heldTask,
  JOB_EVENTS,
  jobContext,
  leftBy,
  selecting,
  TASK_EVENTS,
  taskContext,
  WORKER_EVENTS,
  workerContext,
} from './samples.ts';
import { type Move, SUPERVISOR_TABLE, TASK_TABLE, type Table, WORKER_TABLE } from './tables.ts';

/** The progress of the variants of a job that selects. */
function selectionIn(state: string) {
  if (state === 'running.expanding') return selecting(0, { expanding: true });
  if (state === 'running.exploring' || state === 'running.reusing') return selecting(2);
  if (state !== 'running.refitting') return null;
  const [of] = selecting(0).datasets;
  return selecting(0, { datasets: [{ ...(of as NonNullable<typeof of>), decided: true }] });
}

interface Subject {
  name: string;
  machine: AnyStateMachine;
  table: Table;
  events: Record<string, { type: string }>;
  /** The contexts in which the state meets the event, by situation. */
  situations(state: string, event: { type: string }): Record<string, unknown>;
}

const SUPERVISOR_EVENTS = {
  RECOVERED: { type: 'RECOVERED' },
  COMMITTED: { type: 'COMMITTED' },
  COMMIT_FAILED: { type: 'COMMIT_FAILED', fault: 'disk full' },
  DRAIN: { type: 'DRAIN' },
  DRAINED: { type: 'DRAINED' },
} satisfies Record<SupervisorEvent['type'], SupervisorEvent>;

/** How many slots may be taken in a state, and whether an operator drains the worker there. */
const SLOTS: Record<string, { used: number[]; drained: boolean[] }> = {
  'alive.idle': { used: [0], drained: [false] },
  'alive.busy': { used: [1], drained: [false] },
  'alive.full': { used: [2], drained: [false] },
  'alive.draining': { used: [1, 2], drained: [true] },
  'alive.drained': { used: [0], drained: [true] },
  dead: { used: [0, 1, 2], drained: [false, true] },
  removed: { used: [0], drained: [false, true] },
};
const SLOT_WORDS = ['none taken', 'one taken', 'both taken'];

const subjects: Subject[] = [
  {
    name: 'task',
    machine: taskMachine,
    table: TASK_TABLE,
    events: TASK_EVENTS,
    situations: (_, event) => ({
      'attempts remain': heldTask({ attempt: 1, max_attempts: 2 }),
      'none remain': heldTask({ attempt: 2, max_attempts: 2 }),
      ...(event.type === 'REUSED' && { 'never tried': taskContext() }),
    }),
  },
  {
    name: 'job',
    machine: jobMachine,
    table: JOB_TABLE,
    events: JOB_EVENTS,
    situations: (state, event) => {
      if (event.type === 'BULK_DONE' && (state.startsWith('cancelling') || state === 'queued.reusing')) {
        return {
          'others at work': jobContext({ running: 1, cancelled: 1 }),
          'all ended': jobContext({ cancelled: 1, failed: 1, succeeded: 1 }),
        };
      }
      const own = leftBy(event as never) ?? 'queued';
      const selection = selectionIn(state);
      const counts = { leased: 1, [own]: own === 'leased' ? 2 : 1 };
      const atWork = { 'others at work': jobContext(counts, { selection }) };
      if (selection !== null) return atWork;
      // An event about a task that had failed before meets only jobs that go on, or are tried again.
      if (own === 'failed' && !state.endsWith('requeuing')) return atWork;
      return {
        ...atWork,
        'others failed': jobContext({ failed: 1, [own]: own === 'failed' ? 2 : 1 }),
        'one succeeded': jobContext({ failed: 1, succeeded: 1, [own]: own === 'failed' ? 2 : 1 }),
      };
    },
  },
  {
    name: 'worker',
    machine: workerMachine,
    table: WORKER_TABLE,
    events: WORKER_EVENTS,
    situations: (state) =>
      Object.fromEntries(
        (SLOTS[state]?.drained ?? []).flatMap((drained) =>
          (SLOTS[state]?.used ?? []).map((used) => [
            `${SLOT_WORDS[used]}${drained ? ', drained' : ''}`,
            workerContext(used, 2, drained ? DRAIN_ORDER : null),
          ]),
        ),
      ),
  },
  {
    name: 'supervisor',
    machine: supervisorMachine,
    table: SUPERVISOR_TABLE,
    events: SUPERVISOR_EVENTS,
    situations: () => ({ always: { failures: 0, fault: null } }),
  },
];

function movesFor(table: Table, from: string, event: string, situation: string): Move[] {
  return table.moves.filter(
    (move) =>
      move.from.includes(from) &&
      move.event.some((name) => event === name || event.startsWith(`${name} `)) &&
      (move.situation.length === 0 || move.situation.includes(situation)),
  );
}

/** Sends the event and checks that exactly what the table says comes of it. */
function meet({ machine, table, events, situations }: Subject, from: string, name: string): void {
  const event = events[name] as never;
  for (const [situation, context] of Object.entries(situations(from, event))) {
    const where = `${from} × ${name}, ${situation}`;
    const moves = movesFor(table, from, name, situation);
    assert.ok(moves.length <= 1, `the table says two things about ${where}`);
    const actor = new Driven(machine, from, context);
    const before = actor.snapshot;
    const can = before.can(event);
    const emitted = (actor.send(event) as { type: string }[]).map(({ type }) => type);
    const [move] = moves;
    assert.equal(can, move !== undefined, `whether ${where} is allowed`);
    assert.deepEqual(emitted, move?.emits ?? [], `what ${where} emits`);
    if (move) assert.equal(actor.state, move.to ?? from, `where ${where} leads`);
    else assert.equal(actor.snapshot, before, `${where} is refused and changes nothing`);
    assert.equal(actor.snapshot.status, table.final.includes(actor.state) ? 'done' : 'active', where);
  }
}

for (const subject of subjects) {
  const { name, machine, table, events } = subject;
  describe(`the ${name}'s transition table`, () => {
    it('names every state that the machine has, and whether it is passed through or final', () => {
      const nodes = getStateNodes(machine).filter(({ type }) => type === 'atomic' || type === 'final');
      const path = ({ path }: { path: string[] }) => path.join('.');
      const passing = nodes.filter(({ always }) => always?.some(({ guard }) => guard === undefined));
      assert.deepEqual(nodes.map(path).sort(), [...table.states, ...table.passing].sort());
      assert.deepEqual(passing.map(path).sort(), table.passing);
      assert.deepEqual(
        nodes
          .filter(({ type }) => type === 'final')
          .map(path)
          .sort(),
        [...table.final].sort(),
      );
    });

    it('knows every event that the machine takes', () => {
      const known = new Set(Object.values(events).map(({ type }) => type));
      assert.deepEqual([...known].sort(), [...machine.events].sort());
    });

    it('names no state and no event that do not exist', () => {
      for (const move of table.moves) {
        for (const state of [...move.from, move.to ?? []].flat())
          assert.ok(table.states.includes(state), state);
        for (const event of move.event) {
          const meant = Object.keys(events).filter((key) => key === event || key.startsWith(`${event} `));
          assert.notEqual(meant.length, 0, event);
        }
      }
    });

    for (const from of table.states) {
      it(`says what each event does in ${from}: it leads to the named state, or is refused without a change`, () => {
        for (const event of Object.keys(events)) meet(subject, from, event);
      });
    }
  });
}
