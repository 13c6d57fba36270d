import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createActor } from 'xstate';
import { MOST_ATTEMPTS, notificationMachine } from '../../machines/notification.ts';

const NEW = { attempts: 0, next_at: 1000, error: null };

/** Tries it once, which fails. */
function refused(input = NEW, { now = input.next_at, spread = 0.5 } = {}) {
  const actor = createActor(notificationMachine, { input }).start();
  actor.send({ type: 'SEND' });
  actor.send({ type: 'REFUSED', error: 'it answered 500', now, spread });
  return actor.getSnapshot();
}

describe('a notification', () => {
  it('is sent when its time has come, and has arrived when the receiver said so', () => {
    const actor = createActor(notificationMachine, { input: NEW }).start();
    const states = [actor.getSnapshot().value];
    for (const type of ['ACCEPTED', 'SEND', 'SEND', 'ACCEPTED', 'SEND'] as const) {
      actor.send({ type });
      states.push(actor.getSnapshot().value);
    }
    assert.deepEqual(states, ['waiting', 'waiting', 'sending', 'sending', 'delivered', 'delivered']);
  });

  it('waits after each failure twice as long, up to an hour, a fifth more or less', () => {
    const waits = (spread: number) => {
      const all: number[] = [];
      for (let context = NEW as ReturnType<typeof refused>['context']; all.length < 12; ) {
        const now = context.next_at;
        context = refused(context as typeof NEW, { spread }).context;
        all.push(context.next_at - now);
      }
      return all;
    };
    assert.deepEqual(waits(0.5), [5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600, 3600]);
    assert.deepEqual([waits(0)[0], waits(1)[0], waits(1)[11]], [4, 6, 4320]);
  });

  it('is given up with the try that is one too many, however much the clock has moved since the end', () => {
    const told = (attempts: number, now: number) => refused({ ...NEW, attempts }, { now }).value;
    assert.equal(told(MOST_ATTEMPTS - 2, 1000), 'waiting');
    assert.equal(told(MOST_ATTEMPTS - 1, 1000), 'given_up');
    assert.equal(told(0, 1000 + 365 * 86_400), 'waiting');
    assert.equal(refused({ ...NEW, attempts: MOST_ATTEMPTS - 1 }).context.error, 'it answered 500');
  });
});
