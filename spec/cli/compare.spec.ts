import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Hand, job } from '../dashboard/hands.ts';
import { run } from './cli-support.ts';
import { scene } from './scene.ts';

describe('jqctl compare', () => {
  /** Two jobs of two pipelines each, one of which both have. */
  async function two(t: TestContext) {
    const { server, ctl } = await scene(t);
    const hand = await Hand.register(server.client);
    const submitted = async (name: string, params: Record<string, number>, ...values: [string, number][]) => {
      const pipelines = values.map(([path]) => ({ kind: 'path' as const, path: `${path}.yaml` }));
      const { id } = await server.client.call('submitJob', { body: job({ name, pipelines, params }) });
      for (const [, best_rmse] of values) {
        const task = await hand.run();
        await hand.complete(task, {
          metrics: { best_rmse, best_r2: 1 - best_rmse },
          ...{ demo_version: name },
        });
      }
      return id;
    };
    const old = await submitted('1.0', { alpha: 1 }, ['pls', 0.25], ['snv', 0.5]);
    const fresh = await submitted('1.1', { alpha: 2 }, ['pls', 0.125], ['msc', 0.75]);
    return { old, fresh, ctl: (...argv: string[]) => ctl('compare', ...argv) };
  }

  it('shows the best of each over time, their rankings side by side, and what differs', async (t) => {
    const { old, fresh, ctl } = await two(t);
    const { code, stdout } = await ctl(fresh, '1.0');
    assert.equal(code, 0);
    const [bests = '', rankings = '', differences = ''] = stdout.trimEnd().split('\n\n');
    assert.match(
      bests,
      new RegExp(
        `smallest best_rmse.*\\nB +${old}.* 0\\.2500 +demo 1\\.0\\nA +${fresh}.* 0\\.1250 +demo 1\\.1$`,
      ),
    );
    assert.deepEqual(
      rankings
        .split('\n')
        .slice(1)
        .map((line) => line.split(/ {2,}/)),
      [
        ['pls', 'corn', '0.1250', '0.2500'],
        ['snv', 'corn', '-', '0.5000'],
        ['msc', 'corn', '0.7500', '-'],
      ],
    );
    assert.match(differences, /^params\.alpha\n {2}A {2}2\n {2}B {2}1$/m);
    assert.match(differences, /^library\n {2}A {2}demo 1\.1\n {2}B {2}demo 1\.0$/m);
    assert.match(differences, /^pipeline snv\.yaml\n {2}A {2}not there\n/m);
  });

  it('takes another metric that all report, and prints all of it as JSON', async (t) => {
    const { old, fresh, ctl } = await two(t);
    const { stdout } = await ctl(old, fresh, '--metric', 'best_r2', '--json');
    const { metric, mode, jobs, rows } = JSON.parse(stdout);
    assert.deepEqual([metric, mode], ['best_r2', 'max']);
    assert.deepEqual(
      jobs.map(({ id, best }: { id: string; best: number }) => [id, best]),
      [
        [old, 0.75],
        [fresh, 0.875],
      ],
    );
    assert.deepEqual(rows[0], { pipeline: 'pls', dataset: 'corn', values: [0.75, 0.875] });
    const none = await ctl(old, fresh, '--metric', 'best_mae');
    assert.deepEqual([none.code, /none of best_rmse, best_r2/.test(none.stderr)], [2, true]);
  });

  it('says that errors of different samples are not the same, and compares those of cross-validation', async (t) => {
    const { server, ctl } = await scene(t);
    const hand = await Hand.register(server.client);
    for (const [name, validation, best_rmse] of [
      ['validated', 'k_fold', 0.25],
      ['tested', 'test_set', 0.125],
    ] as const) {
      await server.client.call('submitJob', { body: job({ name }) });
      await hand.complete(await hand.run(), { metrics: { best_rmse, cv_rmse: 0.25 }, extra: { validation } });
    }
    const said = /best_rmse is not the same in all of them: A of cross-validation, B of test samples/;
    const { stdout } = await ctl('compare', 'validated', 'tested');
    assert.match(stdout, /smallest cv_rmse/);
    assert.match(stdout, new RegExp(`warning: ${said.source}; compared by cv_rmse instead`));
    const asked = await ctl('compare', 'validated', 'tested', '--metric', 'best_rmse');
    assert.match(asked.stdout, said);
    assert.doesNotMatch(asked.stdout, /smallest/);
    const { warning, jobs } = JSON.parse((await ctl('compare', 'validated', 'tested', '--json')).stdout);
    assert.match(warning, said);
    assert.deepEqual(jobs[1].measured_on, ['cross-validation']);
  });

  it('refuses one job alone, and one that is named twice', async (t) => {
    const { old, ctl } = await two(t);
    assert.match((await ctl(old)).stderr, /name 2 to 10 jobs/);
    assert.match((await run(['compare', '--help'])).stdout, /jqctl compare <job> \.\.\./);
    assert.match((await ctl(old, '1.0')).stderr, /a job is named twice/);
  });
});
