import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { at } from '../../machines/json/raw.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { type Outcome, run } from './cli-support.ts';
import { jobOf, playWorker } from './played-worker.ts';

const YAML = `type: mljs.run
name: 1e3 spectra
pipeline: {kind: inline_json, inline: {z: 1.0, a: [1e-3, -0.0, 12345678901234567890], "10": x, "9": y}}
dataset: {kind: shared_path, path: corn}
params: {zeta: 1.0, alpha: 1e-3, big: 12345678901234567890, tiny: 0.10}
`;
const JSON_TEXT = `{
  "type": "mljs.run", "name": "1e3 spectra",
  "pipeline": {"kind": "inline_json", "inline": {"z": 1.0, "a": [1e-3, -0.0, 12345678901234567890], "10": "x", "9": "y"}},
  "dataset": {"kind": "shared_path", "path": "corn"},
  "params": {"zeta": 1.0, "alpha": 1e-3, "big": 12345678901234567890, "tiny": 0.10}
}`;

describe('numbers in a submitted job', () => {
  for (const [name, text, flags] of [
    ['job.yaml', YAML, []],
    ['job.json', JSON_TEXT, []],
    ['job.json', JSON_TEXT, ['--name', 'another', '--priority', '7']],
  ] as const) {
    it(`reach the server as they are written in ${name} ${flags.join(' ')}`, async (t) => {
      const server = await startTestServer(t);
      const file = join(await temporaryDirectory(t), name);
      await writeFile(file, text);
      const { stdout, stderr } = await run(['submit', file, '--server', server.url, ...flags]);
      const stored = await server.client.callText('getJobRequest', { params: { id: stdout.trim() } });
      assert.equal(
        at(stored, 'params'),
        '{"zeta":1.0,"alpha":1e-3,"big":12345678901234567890,"tiny":0.10}',
        stderr,
      );
      assert.equal(
        at(stored, 'pipeline', 'inline'),
        '{"z":1.0,"a":[1e-3,-0.0,12345678901234567890],"10":"x","9":"y"}',
      );
      assert.equal(at(stored, 'name'), flags.length > 0 ? '"another"' : '"1e3 spectra"');
      assert.equal(at(stored, 'priority'), flags.length > 0 ? '7' : undefined);
    });
  }
});

describe('--json', () => {
  it('prints only JSON on stdout, one document, or one a line where events are listed', async (t) => {
    const server = await startTestServer(t);
    const env = { JQ_SERVER: server.url };
    const ctl = (argv: string[], stdin?: string): Promise<Outcome> =>
      run([...argv, '--json'], { env, ...(stdin === undefined ? {} : { stdin }) });
    const submitted = await ctl(['submit', '-'], jobOf('a.yaml').replace('"played"', '"played","retires":1'));
    const { id, warnings } = JSON.parse(submitted.stdout);
    assert.equal(warnings.length, 1);
    assert.match(submitted.stderr, /unknown field 'retires'/, 'messages go to stderr');
    const worker = await playWorker(server.client);
    const waiting = ctl(['wait', id]);
    await worker.complete(await worker.take(), { best_rmse: 0.25 });
    const ended = JSON.parse((await waiting).stdout);
    assert.equal(ended.status, 'succeeded');
    assert.equal(ended.tasks[0].status, 'succeeded');
    assert.equal(JSON.parse((await ctl(['status', id])).stdout).aggregate.best_metric, 0.25);
    assert.equal(JSON.parse((await ctl(['jobs'])).stdout)[0].id, id);
    assert.equal(JSON.parse((await ctl(['workers'])).stdout)[0].name, 'played');
    assert.equal(JSON.parse((await ctl(['stats'])).stdout).workers_alive, 1);
    assert.deepEqual(JSON.parse((await ctl(['artifacts', id])).stdout), []);
    assert.equal(JSON.parse((await ctl(['cancel', id])).stdout).status, 'succeeded');
    for (const flags of [[], ['--follow']]) {
      const lines = (await ctl(['logs', id, ...flags])).stdout.trimEnd().split('\n');
      assert.deepEqual(
        lines.map((line) => JSON.parse(line).type).slice(0, 2),
        ['job_submitted', 'task_leased'].slice(0, 2),
      );
      assert.ok(lines.length >= 5);
    }
  });
});
