import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Store } from '../../actors/server/store/store.ts';
import { LISTS } from '../../actors/server/store/turn-sql.ts';
import { type Driver, drivers } from './drivers.ts';

/** A column as a database describes it. */
interface Declared {
  name: string;
  type: string;
  mayBeNull: boolean;
  isKey: boolean;
}

const tables = new Map(Object.values(LISTS).map(({ table }) => [table.columns.join(), table]));

/** Types by those that the program names. */
const TYPES: Record<string, string> = { bigint: 'INTEGER', 'double precision': 'REAL', text: 'TEXT' };

const describedBy: Record<Driver['name'], (store: Store, table: string) => Promise<Declared[]>> = {
  async sqlite(store, table) {
    const rows = await store.reader.all<{ name: string; type: string; notnull: number; pk: number }[]>(
      `SELECT name, type, "notnull", pk FROM pragma_table_info('${table}')`,
    );
    return rows.map(({ name, type, notnull, pk }) => ({
      ...{ name, type, isKey: pk > 0 },
      mayBeNull: notnull === 0 && pk === 0,
    }));
  },
  async postgresql(store, table) {
    const rows = await store.reader.all<{ name: string; type: string; nullable: number; key: number }[]>(
      `SELECT c.column_name::text AS name, c.data_type::text AS type, c.is_nullable = 'YES' AS nullable,
         EXISTS (SELECT 1 FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
           WHERE i.indrelid = c.table_name::regclass AND i.indisprimary AND a.attname = c.column_name) AS key
       FROM information_schema.columns c WHERE c.table_schema = current_schema() AND c.table_name = ?
         AND c.is_generated = 'NEVER'`,
      table,
    );
    return rows.map(({ name, type, nullable, key }) => ({
      ...{ name, type: TYPES[type] ?? type, isKey: key === 1 },
      mayBeNull: nullable === 1,
    }));
  },
};

for (const driver of drivers) {
  test(
    `the columns that the program defines and those of ${driver.name} are the same`,
    driver.needing,
    async (t) => {
      const store = await (await driver.place(t)).open();
      for (const { name, columns, types, key } of tables.values()) {
        await t.test(`${name}: ${columns.length} columns, found by ${key.join(', ')}`, async () => {
          const declared = await describedBy[driver.name](store, name);
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
            return ours?.type !== theirs?.type || ours?.isNullable !== theirs?.mayBeNull;
          });
          assert.deepEqual(
            differing.map((column) => ({ column, ours: types[column], theirs: found.get(column) })),
            [],
          );
          if (!isWhole) return;
          const primary = declared.filter(({ isKey }) => isKey).map((column) => column.name);
          assert.deepEqual([...key].sort(), primary.sort());
        });
      }
    },
  );
}

/** Every table, with its columns, but what only one driver has: indexes of a kind, several servers, and orders that stand apart. */
const ALL: Record<Driver['name'], string> = {
  sqlite: `SELECT m.name AS relation, c.name AS member FROM sqlite_master m JOIN pragma_table_info(m.name) c
    WHERE m.type = 'table' AND m.name NOT GLOB 'sqlite_*' AND m.name NOT GLOB 'job_names*' ORDER BY 1, 2`,
  postgresql: `SELECT table_name::text AS relation, column_name::text AS member FROM information_schema.columns
    WHERE table_schema = current_schema() AND is_generated = 'NEVER' AND table_name NOT IN ('reign', 'past_reigns', 'leader', 'servers', 'store_id', 'schema_version', 'job_places') ORDER BY 1, 2`,
};

test(
  'every table of one driver is a table of the other, with the same columns',
  drivers[1]?.needing,
  async (t) => {
    const [one, other] = await Promise.all(
      drivers.map(async (driver) => {
        const store = await (await driver.place(t)).open();
        const rows = await store.reader.all<{ relation: string; member: string }[]>(ALL[driver.name]);
        return rows.map(({ relation, member }) => `${relation}.${member}`);
      }),
    );
    assert.deepEqual(other, one);
  },
);
