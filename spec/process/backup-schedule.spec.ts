import assert from 'node:assert/strict';
import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { BackupsView } from '../../machines/schema/views.ts';
import { run } from '../cli/cli-support.ts';
import { clientOf } from '../support/client.ts';
import { Program, ROOT } from '../support/program.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { check, namesIn, places } from './backup-support.ts';

describe('backups on a schedule', () => {
  it('are made, reported, tried again where they fail, deleted beyond the number to keep, and go on after a restart', async (t) => {
    const { state, to } = await places(t);
    const serveScheduled = async () => {
      const server = new Program(process.execPath, [
        ...[`${ROOT}bin/jq-server`, '--port', '0', '--state', state, '--transport', 'node', '--json'],
        ...['--backup-to', to, '--backup-every', '2s', '--backup-keep', '2'],
      ]);
      t.after(() => server.kill());
      const { url } = await server.announced('listening');
      const client = clientOf(t, url as string);
      const backups = async () => (await client.call('getStats')).backups as BackupsView;
      return { server, url: url as string, backups };
    };
    const first = await serveScheduled();
    const began = Date.now() / 1000;
    const seen = new Set<string>();
    await until(
      'three of them to have been made',
      async () => {
        const names = namesIn(to);
        for (const name of names) seen.add(name);
        return seen.size >= 3 && names.length === 2;
      },
      90,
    );
    const { last, failure, overdue, next_at } = await first.backups();
    assert.ok(last);
    assert.deepEqual([failure, overdue, last.whole], [null, false, true]);
    assert.ok(last.made_at > began - 60 && next_at >= last.made_at && last.bytes > 10_000);
    const { stdout } = await run(['stats', '--server', first.url]);
    assert.match(stdout, /^backups +newest (just now|.* ago), [\d.]+ .B; /m);

    // What stands in its way is told, and once it is gone they go on.
    await until('a moment between two', async () => !(await first.backups()).running);
    renameSync(to, `${to}.away`);
    writeFileSync(to, '');
    const failed = await until('a failure', async () => (await first.backups()).failure, 60);
    assert.match(failed.error, /cannot write to .*backups/);
    await until('the line', () => /no backup was made/.test(first.server.stderr));
    renameSync(to, join(state, '..', 'in-the-way'));
    renameSync(`${to}.away`, to);
    const mended = await until(
      'another one',
      async () => {
        const now = await first.backups();
        return now.failure === null && (now.last?.made_at ?? 0) > last.made_at ? now.last : null;
      },
      60,
    );
    await first.server.terminate();

    const second = await serveScheduled();
    const known = (await second.backups()).last;
    assert.ok((known?.made_at ?? 0) >= (mended?.made_at ?? 0));
    await until(
      'one more',
      async () => ((await second.backups()).last?.made_at ?? 0) > (known?.made_at ?? 0),
      60,
    );
    await second.server.terminate();
    for (const name of namesIn(to)) assert.equal((await check(join(to, name))).code, 0);
  });

  it('are not reported where there is no schedule, and a time that is not valid is refused', async (t) => {
    const { client } = await startTestServer(t);
    assert.equal('backups' in (await client.call('getStats')), false);
    for (const [flag, value, said] of [
      ['--backup-every', '5', /--backup-every: '5' is no length of time, such as 30min/],
      ['--backup-every', '0h', /is no length of time/],
      ['--backup-keep', '0', /--backup-keep: '0' is not a whole number from 1/],
      ['--backup-to', '', /--backup-to: the folder has no name/],
    ] as const) {
      const { code, stderr } = await run(['--backup-to', '/nowhere', flag, value], { program: 'jq-server' });
      assert.equal(code, 2);
      assert.match(stderr, said);
    }
  });
});
