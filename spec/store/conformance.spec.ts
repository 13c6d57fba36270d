import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { EventRow, TaskRow } from '../../actors/server/store/rows.ts';
import { EVENTS, REQUIREMENTS, TASKS } from '../../actors/server/store/tables.ts';
import { LIST_NAMES, LISTS } from '../../actors/server/store/turn-sql.ts';
import { RawJson } from '../../machines/json/raw.ts';
import { NASTY_TEXTS } from '../hostile/nasty.ts';
import { Program } from '../support/program.ts';
import { until } from '../support/until.ts';
import { drivers } from './drivers.ts';
import { aTurnOfEverything, eventRow, nothing, taskRow } from './row-support.ts';

const COMMITTER = fileURLToPath(new URL('./committer.ts', import.meta.url));

const events = (from: number, count: number): EventRow[] =>
  Array.from({ length: count }, (_, i) => ({ ...eventRow, id: from + i }));

const tasks = (count: number, change: Partial<TaskRow> = {}): TaskRow[] =>
  Array.from({ length: count }, (_, i) => ({ ...taskRow, seq: i + 1, id: `task_${i + 1}`, ...change }));

for (const driver of drivers) {
  describe(`a store in ${driver.name}`, driver.needing, () => {
    test('has nothing in it at first, and says so', async (t) => {
      const store = await (await driver.place(t)).open();
      assert.equal(await store.isEmpty(), true);
      await store.commit({ ...nothing(), events: [eventRow] });
      assert.equal(await store.isEmpty(), false);
    });

    test('takes rows of every kind in one turn, and gives them back as they were', async (t) => {
      const place = await driver.place(t);
      let store = await place.open();
      const turn = aTurnOfEverything();
      const empty = LIST_NAMES.filter((name) => turn[name].length === 0);
      assert.deepEqual(empty, [
        'plain_changed_jobs',
        'changed_jobs',
        'plain_changed_tasks',
        'changed_tasks',
        'plain_changed_workers',
        'changed_workers',
        'removed_workers',
        'lifted_pauses',
      ]);
      await store.commit(turn);
      for (let opened = 1; opened <= 2; opened++) {
        for (const name of LIST_NAMES) {
          const { table } = LISTS[name];
          if (turn[name].length === 0 || !('decode' in table)) continue;
          const stored = await store.load(table as never, `true ORDER BY ${table.key.join(', ')}`);
          for (const row of turn[name])
            assert.ok(
              stored.some((one) => isSame(one, row)),
              `${name} ${JSON.stringify(row)}`,
            );
        }
        await store.close();
        store = await place.open();
      }
    });

    for (const size of [1, 3000]) {
      test(`leaves nothing of a turn of which one row of ${size + 1} cannot be written, and takes the next`, async (t) => {
        const store = await (await driver.place(t)).open();
        await store.commit({ ...nothing(), events: [eventRow] });
        const turn = { ...nothing(), plain_new_tasks: tasks(size, NOTHING_RARE), events: [eventRow] };
        await assert.rejects(store.commit(turn));
        assert.deepEqual(await store.load(TASKS, 'true'), []);
        await store.commit({ ...turn, events: events(eventRow.id + 1, 1) });
        assert.equal((await store.load(TASKS, 'true')).length, size);
      });
    }

    test('writes the further statements of a turn with it, behind its rows, or nothing of it', async (t) => {
      const store = await (await driver.place(t)).open();
      const change = { sql: 'UPDATE tasks SET priority = ? WHERE id = ?', params: [42, taskRow.id] };
      await store.commit({ ...nothing(), new_tasks: [taskRow], further: [change] });
      const priority = async () => (await store.load(TASKS, 'id = ?', taskRow.id)).map((row) => row.priority);
      assert.deepEqual(await priority(), [42]);
      const undone = { sql: change.sql, params: [43, taskRow.id] };
      const wrong = { sql: 'INSERT INTO pauses (kind) VALUES (?)', params: ['all'] };
      await assert.rejects(store.commit({ ...nothing(), events: [eventRow], further: [undone, wrong] }));
      assert.deepEqual([await priority(), await store.isEmpty()], [[42], true]);
    });

    test('shows every commit that was answered to whoever reads', async (t) => {
      const store = await (await driver.place(t)).open();
      for (let id = 1; id <= 50; id++) {
        await store.commit({ ...nothing(), events: events(id, 1) });
        const reads = [store.reader, store.queries, store.pages].map((queries) =>
          queries.get<{ last: number }>('SELECT max(id) AS last FROM events'),
        );
        for (const row of await Promise.all(reads)) assert.deepEqual(row, { last: id });
      }
    });

    test('keeps events in order and without a gap, whatever the sizes of the turns', async (t) => {
      const store = await (await driver.place(t)).open();
      let next = 1;
      for (const size of [1, 1999, 2000, 2001, 1, 10_000]) {
        await store.commit({ ...nothing(), events: events(next, size) });
        next += size;
      }
      const stored = await store.load(EVENTS, 'true ORDER BY id');
      assert.deepEqual(
        stored.map(({ id }) => id),
        Array.from({ length: next - 1 }, (_, i) => i + 1),
      );
    });

    test('takes 10,000 tasks in a turn, and changes them all in another', async (t) => {
      const store = await (await driver.place(t)).open();
      const plain = tasks(10_000, NOTHING_RARE);
      await store.commit({ ...nothing(), plain_new_tasks: plain });
      const changed = plain.map((row) => ({
        ...row,
        status: 'succeeded' as const,
        result: `{"n": ${row.seq}.0}`,
      }));
      await store.commit({ ...nothing(), plain_changed_tasks: changed });
      assert.deepEqual(await store.load(TASKS, 'true ORDER BY seq'), changed);
      const some = changed.slice(17, 400).map(({ id }) => id);
      assert.equal((await store.loadBy(TASKS, 'id', some)).length, some.length);
    });

    test('takes a later row of the same turn for the earlier one that is found by the same', async (t) => {
      const store = await (await driver.place(t)).open();
      const one = { id: 1, signature: 's', document: 'a', owner: 'ann', type: 'demo.run' };
      await store.commit({ ...nothing(), requirements: [one, { ...one, document: 'b' }] });
      assert.deepEqual(await store.load(REQUIREMENTS, 'true'), [{ ...one, document: 'b' }]);
    });

    test('keeps every text to the character, whatever it holds', async (t) => {
      const store = await (await driver.place(t)).open();
      // Half a surrogate pair has no form in UTF-8, and gets no further than the gateway.
      const own = ['\ufdd0', 'a\ufdd00\0\ufdd01', '\\u0000', '{"\\u0000": "\\ufdd0"}', '\\ud83d'];
      const texts = [...NASTY_TEXTS, ...own].filter((text) => !/\p{Cs}/u.test(text));
      const rows = texts.map((text, i) => ({
        ...eventRow,
        ...{ id: i + 1, job_id: text, message: text },
        data: new RawJson(JSON.stringify({ [text]: [text, `\\${text}`] })),
      }));
      await store.commit({ ...nothing(), events: rows });
      const stored = await store.load(EVENTS, 'true ORDER BY id');
      assert.deepEqual(
        stored,
        rows.map((row) => ({ ...row, data: row.data.parse() })),
      );
      // As what is looked for, and as a column by itself.
      for (const { message, data } of rows) {
        const found = await store.queries.all('SELECT message, data FROM events WHERE job_id = ?', message);
        assert.deepEqual(found, [{ message, data: data.text }]);
      }
    });

    test('keeps half a surrogate pair within a document, and U+FFFD in the place of one in a text', async (t) => {
      const store = await (await driver.place(t)).open();
      await store.commit({
        ...nothing(),
        events: [{ ...eventRow, message: 'x\ud83d', data: new RawJson('{"a": "\\ud83d"}') }],
      });
      const [row] = await store.load(EVENTS, 'true');
      assert.match(row?.message ?? '', /^x\ufffd+$/);
      assert.deepEqual(row?.data, { a: '\ud83d' });
    });

    test('has all that was answered after the program that wrote it was killed, and nothing by halves', async (t) => {
      const place = await driver.place(t);
      const committer = new Program(process.execPath, ['--import', 'tsx', COMMITTER, place.address]);
      await until(
        'some commits',
        () =>
          committer.stdout.split('\n').length > 40 ||
          (committer.over && Promise.reject(new Error(committer.stderr))),
        120,
      );
      await committer.kill();
      const answered = Number(committer.stdout.trimEnd().split('\n').at(-1));
      const stored = await (await place.open()).load(EVENTS, 'true ORDER BY id');
      assert.deepEqual(
        stored.map(({ id }) => id),
        stored.map((_, i) => i + 1),
      );
      // Each turn has five.
      assert.equal(stored.length % 5, 0);
      assert.ok(stored.length >= answered && stored.length <= answered + 5, `${stored.length}, ${answered}`);
    });

    test('says that it commits, and leaves nothing of having tried', async (t) => {
      const store = await (await driver.place(t)).open();
      await store.probe();
      await store.commit({ ...nothing(), events: [eventRow] });
      await store.probe();
      assert.equal((await store.load(EVENTS, 'true')).length, 1);
    });
  });
}

/** What makes a row of a task a plain one. */
const NOTHING_RARE: Partial<TaskRow> = {
  ...{ not_before: null, avoids: [], pipeline_steps: null, timeout_seconds: null, rank_others: [] },
  ...{ model_artifact_id: null, error: null, content_key: null, reused_from: null },
};

const isSame = (one: unknown, other: unknown): boolean => {
  try {
    assert.deepEqual(one, other);
    return true;
  } catch {
    return false;
  }
};
