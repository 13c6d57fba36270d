import assert from 'node:assert/strict';
import { describe, it, mock, type TestContext } from 'node:test';
import { effect } from '@preact/signals';
import { BATCH_MS } from '../../gateway/ui/client/model/batch.ts';
import { KEPT, LiveFeed, SHOWN } from '../../gateway/ui/client/model/live-feed.ts';
import type { EventView } from '../../machines/schema/views.ts';

const event = (id: number, differs: Partial<EventView> = {}): EventView => ({
  id,
  job_id: null,
  task_id: null,
  worker_id: null,
  ts: id,
  level: 'info',
  type: 'task_started',
  message: '',
  data: {},
  ...differs,
});

/** A feed on a clock that the test moves, and how often it was drawn. */
function feedOn(t: TestContext) {
  mock.timers.enable({ apis: ['setTimeout'] });
  const feed = new LiveFeed();
  const drawn: number[] = [];
  const stop = effect(() => void drawn.push(feed.rows.value.length));
  t.after(() => {
    stop();
    feed.stop();
    mock.timers.reset();
  });
  const take = (from: number, to: number, differs?: Partial<EventView>) => {
    for (let id = from; id <= to; id++) feed.take(event(id, differs));
  };
  return { feed, drawn, take, pass: () => mock.timers.tick(BATCH_MS) };
}

const ids = (feed: LiveFeed) => feed.rows.value.map(({ id }) => id);

describe('the live feed', () => {
  it('draws once for all events that come within a moment, newest first', (t) => {
    const { feed, drawn, take, pass } = feedOn(t);
    take(1, 5);
    assert.deepEqual(drawn, [0], 'nothing is drawn before the moment has passed');
    pass();
    assert.deepEqual(ids(feed), [5, 4, 3, 2, 1]);
    take(6, 6 + 100 * KEPT);
    pass();
    assert.equal(drawn.length, 3);
    assert.equal(feed.total.value, 6 + 100 * KEPT, 'all are counted');
  });

  it('shows a bounded number of rows, the newest', (t) => {
    const { feed, take, pass } = feedOn(t);
    take(1, 3 * KEPT);
    pass();
    assert.equal(feed.rows.value.length, SHOWN);
    assert.deepEqual(ids(feed).slice(0, 2), [3 * KEPT, 3 * KEPT - 1]);
  });

  it('stands still while paused, and shows the events that came meanwhile when resumed', (t) => {
    const { feed, drawn, take, pass } = feedOn(t);
    take(1, 2);
    pass();
    feed.togglePause();
    take(3, 7);
    pass();
    assert.deepEqual([ids(feed), feed.held.value], [[2, 1], 5]);
    assert.equal(drawn.length, 2);
    feed.togglePause();
    assert.deepEqual([ids(feed), feed.held.value], [[7, 6, 5, 4, 3, 2, 1], 0]);
  });

  it('filters without forgetting', (t) => {
    const { feed, take, pass } = feedOn(t);
    take(1, 2, { type: 'log' });
    take(3, 3, { level: 'error' });
    take(4, 4, { level: 'warning', type: 'progress' });
    take(5, 5);
    pass();
    const seen = (['moves', 'problems', 'all'] as const).map((filter) => {
      feed.filter.value = filter;
      return ids(feed);
    });
    assert.deepEqual(seen, [
      [5, 3],
      [4, 3],
      [5, 4, 3, 2, 1],
    ]);
  });
});
