import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createActor, fromCallback } from 'xstate';
import { type HostEvent, hostMachine } from '../../machines/host.ts';

/** A host after these events; `told` is what was sent to its process. */
function hostAfter(events: HostEvent[], most = 3) {
  const told: string[] = [];
  const process = fromCallback(({ receive }) => receive(({ type }) => told.push(type)));
  const actor = createActor(hostMachine.provide({ actors: { process } }), { input: { most } });
  actor.start();
  for (const event of events) actor.send(event);
  const { value, context } = actor.getSnapshot();
  return { value, context, told };
}

const [LOADED, ORDERED, SETTLED] = [{ type: 'LOADED' }, { type: 'ORDERED' }, { type: 'SETTLED' }] as const;
const RETIRE = { type: 'RETIRE', why: 'packages have changed' } as const;
const GONE = { type: 'GONE', why: 'killed' } as const;

describe('a warm host', () => {
  it('takes attempts from its start, and is ready once it has loaded', () => {
    assert.equal(hostAfter([ORDERED]).value, 'loading');
    const { value, context } = hostAfter([ORDERED, LOADED, ORDERED, SETTLED]);
    assert.equal(value, 'ready');
    assert.deepEqual([context.served, context.open, context.loaded], [2, 1, true]);
  });

  it('that is replaced ends when its last attempt has, not before', () => {
    for (const start of [[LOADED], []]) {
      const before = hostAfter([...start, ORDERED, ORDERED, SETTLED, RETIRE]);
      assert.deepEqual([before.value, before.told], ['retiring', []]);
      const after = hostAfter([...start, ORDERED, ORDERED, SETTLED, RETIRE, SETTLED]);
      assert.deepEqual([after.value, after.told, after.context.why], ['ending', ['END'], RETIRE.why]);
    }
  });

  it('is replaced once it has served its number of attempts', () => {
    assert.equal(hostAfter([LOADED, ORDERED, SETTLED, ORDERED, SETTLED]).value, 'ready');
    const { value, context, told } = hostAfter([LOADED, ORDERED, ORDERED, ORDERED, SETTLED, SETTLED]);
    assert.deepEqual([value, told, context.why], ['retiring', [], 'it has served 3 attempts']);
    const end = hostAfter([LOADED, ORDERED, ORDERED, ORDERED, SETTLED, SETTLED, SETTLED]);
    assert.deepEqual([end.value, end.told], ['ending', ['END']]);
  });

  it('is gone when its process is, in whatever state, and says why', () => {
    for (const before of [[], [LOADED], [LOADED, ORDERED], [LOADED, ORDERED, RETIRE], [LOADED, RETIRE]]) {
      const { value, context } = hostAfter([...before, GONE]);
      assert.deepEqual([value, context.why], ['gone', 'killed']);
    }
  });
});
