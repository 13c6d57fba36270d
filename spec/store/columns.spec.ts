import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { SqliteStore } from '../../actors/server/store/sqlite-store.ts';
import { LISTS } from '../../actors/server/store/turn-sql.ts';
import { temporaryDirectory } from '../support/server.ts';

/** A column as SQLite describes it. */
interface Declared {
  name: string;
  type: string;
  notnull: 0 | 1;
  dflt_value: string | null;
  pk: number;
}

const tables = new Map(Object.values(LISTS).map(({ table }) => [table.columns.join(), table]));

describe('the columns that the program defines and those of the migrations are the same', () => {
  for (const { name, columns, types, key } of tables.values()) {
    test(`${name}: ${columns.length} columns, found by ${key.join(', ')}`, async (t) => {
      const store = await SqliteStore.open(await temporaryDirectory(t));
      t.after(() => store.close());
      const declared = await store.reader.all<Declared[]>(`SELECT * FROM pragma_table_info('${name}')`);
      const isWhole = columns.length === declared.length;
      // Some lists write a few of the columns of a table that another writes whole.
      const wholes = [...tables.values()].filter((other) => other.name === name);
      assert.ok(
        isWhole || wholes.some((other) => other.columns.length === declared.length),
        'all are written',
      );
      const found = new Map(declared.map((column) => [column.name, column]));
      const differing = columns.filter((column) => {
        const [ours, theirs] = [types[column], found.get(column)];
        const mayBeNull = theirs?.notnull === 0 && theirs.pk === 0;
        return ours?.type !== theirs?.type || ours?.isNullable !== mayBeNull;
      });
      assert.deepEqual(
        differing.map((column) => ({ column, ours: types[column], theirs: found.get(column) })),
        [],
      );
      if (!isWhole) return;
      const primary = declared.filter(({ pk }) => pk > 0).map((column) => column.name);
      assert.deepEqual([...key].sort(), primary.sort());
    });
  }
});
