import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { FollowedEvents } from '../../actors/server/standby/followed-events.ts';
import { until } from '../support/until.ts';

/** Events of a store that has none, and how often it was looked at. */
function followed() {
  let looks = 0;
  const events = new FollowedEvents({
    page: async () => {
      looks++;
      return { events: [], more: false };
    },
    last: async () => 0,
  });
  return { events, looks: () => looks };
}

describe('events of another server', () => {
  test('are looked for as long as somebody follows them, and again once somebody follows anew', async (t) => {
    const [left, kept] = [followed(), followed()];
    t.after(() => [left, kept].map(({ events }) => events.close()));
    const leave = left.events.subscribe(() => {});
    kept.events.subscribe(() => {});
    await until('both to be looked for', () => left.looks() > 0 && kept.looks() > 0);
    leave();
    const [before, since] = [left.looks(), kept.looks()];
    await until('the one that is still followed', () => kept.looks() >= since + 3);
    assert.ok(left.looks() <= before + 1, `${left.looks() - before} looks for nobody`);
    left.events.subscribe(() => {});
    const then = left.looks();
    await until('it to be looked for again', () => left.looks() > then);
  });

  test('are not waited for once the server that leads now is stopped, though the store is away', async () => {
    let looks = 0;
    const page = async () => {
      looks++;
      throw new Error('the store is away');
    };
    const events = new FollowedEvents({ page, last: async () => 0 });
    events.subscribe(() => {});
    const own = { lastId: 7, latest: async () => 7, subscribe: () => () => {} };
    const goesOn = events.goOnWith(own);
    await until('them to be looked for', () => looks > 1);
    events.close();
    await goesOn;
    assert.equal(events.lastId, 7);
  });
});
