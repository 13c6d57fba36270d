import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parse } from 'yaml';
import { JobSpec } from '../../machines/schema/job.ts';
import { validator } from '../../machines/schema/validate.ts';
import { unknownMembers } from '../../machines/submission/submission.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { ROOT, run, start } from './cli-support.ts';

const FOLDER = 'examples/kinds';
const check = validator(JobSpec);
const README = readFileSync(join(ROOT, FOLDER, 'README.md'), 'utf8');
const jobs = readdirSync(join(ROOT, FOLDER)).filter((name) => name.endsWith('-job.yaml'));

describe('the example jobs of each kind', () => {
  for (const name of jobs) {
    it(`${name} is a valid job without unknown fields, and the README names it`, () => {
      const checked = check(parse(readFileSync(join(ROOT, FOLDER, name), 'utf8')));
      assert.ok(checked.ok, JSON.stringify(checked));
      assert.deepEqual(unknownMembers(checked.value), []);
      assert.ok(README.includes(`\`${name}\``), 'the README leaves it out');
    });
  }

  it('succeed, all that need no Python, on the worker that the README starts', async (t) => {
    const server = await startTestServer(t, { allowPythonJobs: true });
    const line = /bin\/jq-worker (.*) &/.exec(README)?.[1] ?? assert.fail('the README starts no worker');
    const state = join(await temporaryDirectory(t), 'state');
    const argv = [...line.split(' '), '--state', state, '--server', server.url, '--json'];
    const worker = start('jq-worker', argv);
    t.after(async () => {
      worker.child.kill('SIGTERM');
      await worker.outcome;
    });
    await until('the worker', () => worker.said.stdout.includes('"started"'));
    for (const name of jobs.filter((job) => job !== 'python-job.yaml')) {
      const { code, stderr } = await run(['submit', join(FOLDER, name), '--wait', '--server', server.url]);
      assert.equal(code, 0, `${name}: ${stderr}`);
    }
    const python = await run(['submit', join(FOLDER, 'python-job.yaml'), '--server', server.url]);
    assert.equal(python.code, 0, python.stderr);
    const { stdout } = await run(['status', python.stdout.trim(), '--server', server.url]);
    assert.match(stdout, /no worker runs python_entrypoint pipelines \(start one with --allow-python\)/);
  });
});
