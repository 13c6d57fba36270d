import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createActor } from 'xstate';
import { type ReignEvent, reignMachine } from '../../machines/reign.ts';

const OTHER = { place: 'db2, process 7', address: 'http://db2:8765' };
const SEEN: ReignEvent = { type: 'LEADER_SEEN', leader: OTHER };
const OVER: ReignEvent = { type: 'EPOCH_OVER', leader: OTHER };
const TAKEN: ReignEvent = { type: 'STORE_TAKEN' };
const RECOVERED: ReignEvent = { type: 'RECOVERED' };

function after(...events: ReignEvent[]) {
  const actor = createActor(reignMachine).start();
  for (const event of events) actor.send(event);
  const { value, context } = actor.getSnapshot();
  return [value, context.leader?.place ?? null];
}

describe('the reign of a server', () => {
  for (const [what, events, found] of [
    ['stands by at first, and knows of nobody', [], ['standing_by', null]],
    ['stands by as long as another one leads', [SEEN, SEEN], ['standing_by', OTHER.place]],
    ['does not lead before the store is its own', [SEEN, RECOVERED], ['standing_by', OTHER.place]],
    ['takes over before it leads', [SEEN, TAKEN], ['taking_over', OTHER.place]],
    [
      'stands by again where another one has the store after all',
      [SEEN, TAKEN, SEEN],
      ['standing_by', OTHER.place],
    ],
    ['begins without anybody before it, too', [TAKEN, RECOVERED], ['leading', null]],
    ['may be over before it has begun', [TAKEN, OVER], ['superseded', OTHER.place]],
    ['never comes back', [TAKEN, RECOVERED, OVER, TAKEN, RECOVERED], ['superseded', OTHER.place]],
  ] as const) {
    test(what, () => assert.deepEqual(after(...events), found));
  }
});
