import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { heard } from '../support/heard.ts';
import { temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { ROOT } from './cli-support.ts';

/** Starts the demonstration as `npm run demo` does, with a directory for temporary files of its own. */
async function demonstrate(t: TestContext) {
  const temporary = await temporaryDirectory(t);
  const child = spawn(process.execPath, ['examples/demo.js'], {
    cwd: ROOT,
    env: { ...process.env, TMPDIR: temporary, JQ_TOKEN: 'of another server', NODE_TEST_CONTEXT: undefined },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  const { said, outcome } = heard(child);
  /** What of it is left: files of its state. */
  const leftovers = async () =>
    (await readdir(temporary)).filter((name) => name.startsWith('jq-cluster-demo'));
  const address = () => /listens on (\S+) /.exec(said.stdout)?.[1];
  return { child, said, outcome, leftovers, address };
}

const isAway = (url: string) =>
  fetch(url).then(
    () => false,
    () => true,
  );

describe('the demonstration', () => {
  it('takes a job from the command line to a worker and back, and leaves behind only the best model', async (t) => {
    await rm(join(ROOT, 'demo-results', 'best_model.json'), { force: true });
    const { said, outcome, leftovers, address } = await demonstrate(t);
    assert.equal((await outcome).code, 0, said.stderr);
    assert.match(said.stderr, /started +pls\n[\s\S]*succeeded +pls\n/, 'the tasks as they move');
    assert.match(said.stdout, /status +succeeded/);
    assert.match(said.stdout, /7 tasks: 7 succeeded/);
    assert.match(said.stdout, /# +dataset +pipeline +best_rmse/, 'the ranking');
    assert.ok(JSON.parse(await readFile(join(ROOT, 'demo-results', 'best_model.json'), 'utf8')));
    assert.deepEqual(await leftovers(), []);
    assert.ok(await isAway(address() ?? ''));
  });

  it('cleans up when it is interrupted', async (t) => {
    const { child, said, outcome, leftovers, address } = await demonstrate(t);
    await until('the job under way', () => /started/.test(said.stderr), 60);
    assert.equal((await leftovers()).length, 1);
    child.kill('SIGINT');
    assert.equal((await outcome).code, 130);
    assert.deepEqual(await leftovers(), []);
    assert.ok(await isAway(address() ?? ''));
  });
});
