import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { startTestServer } from '../support/server.ts';
import { run } from './cli-support.ts';
import { jobOf, playWorker } from './played-worker.ts';

describe('jqctl ranking', () => {
  /** A job with so many pipelines, of which each but the last succeeds; the command about it. */
  async function ranked(t: TestContext, count: number) {
    const server = await startTestServer(t);
    const worker = await playWorker(server.client);
    const files = Array.from({ length: count }, (_, i) => `p${i + 1}.yaml`);
    const { id } = await server.client.call('submitJob', { text: jobOf(...files) });
    for (let i = 1; i < count; i++)
      await worker.complete(await worker.take(), { best_rmse: count - i, 'odd,name': i });
    return { id, ctl: (...argv: string[]) => run(['ranking', id, ...argv, '--server', server.url]) };
  }

  it('shows the best first, as many as are asked for, and how many there are beside them', async (t) => {
    const { ctl } = await ranked(t, 5);
    const { code, stdout, stderr } = await ctl('--top', '2');
    assert.equal(code, 0);
    const [head = '', ...rows] = stdout.trimEnd().split('\n');
    assert.match(head, /# +dataset +pipeline +best_rmse +odd,name +task/);
    assert.deepEqual(
      rows.map((row) => row.trim().split(/ {2,}/).slice(0, 4)),
      [
        ['1', 'data/corn', 'p4', '1'],
        ['2', 'data/corn', 'p3', '2'],
      ],
    );
    assert.match(stderr, /and 2 more; --top N/);
    assert.doesNotMatch((await ctl()).stderr, /more/);
  });

  it('shows 20 unless more are asked for, and prints all of them as JSON and as CSV', async (t) => {
    const { ctl } = await ranked(t, 24);
    assert.equal((await ctl()).stdout.trimEnd().split('\n').length, 1 + 20);
    const entries = JSON.parse((await ctl('--json')).stdout);
    assert.deepEqual([entries.length, entries[0].metrics], [23, { best_rmse: 1, 'odd,name': 23 }]);
    const lines = (await ctl('--csv')).stdout.trimEnd().split(/\r?\n/);
    assert.equal(lines.length, 1 + 23);
    assert.match(lines[0] as string, /best_rmse.*"odd,name"/);
    assert.equal((await ctl('--csv', '--top', '3')).stdout.trimEnd().split(/\r?\n/).length, 1 + 3);
  });

  it('says that there is none yet, and refuses what makes no sense', async (t) => {
    const { ctl } = await ranked(t, 1);
    const none = await ctl();
    assert.deepEqual([none.code, none.stdout], [0, '']);
    assert.match(none.stderr, /no task of job_\w+ has succeeded yet/);
    for (const [argv, why] of [
      [['--csv', '--json'], /two forms/],
      [['--top', '0'], /--top: '0' is not a whole number/],
      [['--top', 'ten'], /--top: 'ten' is not a whole number/],
    ] as const) {
      const { code, stderr } = await ctl(...argv);
      assert.equal(code, 2);
      assert.match(stderr, why);
    }
  });
});
