import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { Program, processesWith } from '../support/program.ts';
import { requires } from '../support/requires.ts';
import { until } from '../support/until.ts';

/** A PostgreSQL as the bench starts one, by a program that ends as the bench does. */
const WITH_POSTGRESQL = `
  import { postgresCluster } from './spec/support/postgres.ts';
  process.once('SIGTERM', () => process.exit(0));
  const { directory } = await postgresCluster();
  console.log(JSON.stringify({ event: 'up', directory }));
  setInterval(() => {}, 1000);
`;

const WITH_TYPES = ['--import', 'tsx'];

describe('a bench that is ended from outside', () => {
  test('leaves no server and no folder behind', async (t) => {
    // A disk, as its figures need.
    const folder = await mkdtemp('/var/tmp/jq-spec-');
    t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
    const flags = ['--only', 'submit', '--quick', '--dry', '--dir', folder];
    const bench = new Program(process.execPath, [...WITH_TYPES, 'bench/main.ts', ...flags]);
    t.after(() => bench.kill());
    const states = join(folder, 'run-');
    await until('a server', () => bench.over || processesWith(states).length > 0);
    assert.equal(bench.over, false, bench.stderr);
    assert.deepEqual(await bench.terminate(), { code: 143, signal: null });
    await until('its server to be gone', () => processesWith(states).length === 0);
    assert.deepEqual(readdirSync(folder), []);
  });

  test('leaves no PostgreSQL behind, which is no child of it', requires('postgresql'), async (t) => {
    const program = new Program(process.execPath, [
      ...[...WITH_TYPES, '--input-type=module', '--eval', WITH_POSTGRESQL],
    ]);
    t.after(() => program.kill());
    const directory = String((await program.announced('up')).directory);
    assert.notEqual(processesWith(directory).length, 0);
    await program.terminate();
    await until('it to be gone', () => processesWith(directory).length === 0);
    assert.equal(existsSync(directory), false);
  });
});
