import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { begin, run, start } from './cli-support.ts';
import { jobOf } from './played-worker.ts';
import { scene } from './scene.ts';

describe('exit code 0', () => {
  it('when a job was submitted; its id stands alone on stdout', async (t) => {
    const { server, env } = await scene(t);
    const { code, stdout, stderr } = await run(['submit', '-'], { env, stdin: jobOf('a.yaml', 'b.yaml') });
    assert.equal(code, 0);
    assert.match(stdout, /^job_\w+\n$/);
    assert.match(stderr, /submitted job_\w+, 2 tasks/);
    assert.equal((await server.client.call('listJobs')).length, 1);
  });

  it('when the job that was waited for has succeeded, with the ranking on stdout', async (t) => {
    const { env, play } = await scene(t);
    const waiting = begin(['submit', '-', '--wait'], { env, stdin: jobOf('a.yaml', 'b.yaml') });
    const worker = await play();
    await worker.complete(await worker.take(), { best_rmse: 0.5, best_r2: 0.9 });
    await worker.complete(await worker.take(), { best_rmse: 0.125, best_r2: 0.95 });
    const { code, stdout, stderr } = await waiting.outcome;
    assert.equal(code, 0);
    assert.match(stdout, /1 +data\/corn +b +0\.1250 +0\.9500 +task_\w+\n2 +data\/corn +a +0\.5000 +0\.9000/);
    assert.match(stderr, /started +a\n[\s\S]*succeeded +a\n[\s\S]*succeeded +b\n/, 'the moves');
  });

  it('of jqctl status whatever the status of the job is', async (t) => {
    const { ctl, submit } = await scene(t);
    const id = await submit('pls.yaml');
    await ctl('cancel', id);
    assert.equal((await ctl('status', id)).code, 0);
  });
});

describe('exit code 6', () => {
  it('when the job succeeded and some of its tasks failed; the status says so, and lists equal reasons once', async (t) => {
    const { ctl, submit, play } = await scene(t);
    const id = await submit('a.yaml', 'b.yaml', 'c.yaml');
    const worker = await play();
    await worker.fail(await worker.take(), 'no such column');
    await worker.fail(await worker.take(), 'no such column');
    await worker.complete(await worker.take());
    const { code, stdout } = await ctl('wait', id);
    assert.equal(code, 6);
    assert.match(stdout, /status +succeeded, 2 failed/);
    assert.match(stdout, /^2 tasks failed\n {2}2 × no such column\n {4}a +task_\w+\n {4}b +task_\w+$/m);
    assert.match((await ctl('jobs')).stdout, /played +succeeded, 2 failed +██▓▓▓▓ 3\/3 +best_rmse 0\.2500/);
    assert.equal((await ctl('wait', id, '--allow-failed')).code, 0);
  });

  it('is for a wait only: --allow-failed without --wait is refused', async (t) => {
    const { env } = await scene(t);
    const { code, stderr } = await run(['submit', '-', '--allow-failed'], { env, stdin: jobOf('a.yaml') });
    assert.equal(code, 2);
    assert.match(stderr, /--allow-failed needs --wait/);
  });
});

describe('exit code 1', () => {
  it('when the job that was waited for failed', async (t) => {
    const { ctl, submit, play } = await scene(t);
    const id = await submit('pls.yaml');
    const waiting = ctl('wait', id);
    const worker = await play();
    await worker.fail(await worker.take(), 'the spectra are empty');
    const { code, stdout, stderr } = await waiting;
    assert.equal(code, 1);
    assert.match(stdout, /status +failed/);
    assert.match(stderr + stdout, /the spectra are empty/);
  });

  it('when the job was cancelled during the wait', async (t) => {
    const { server, env, ctl } = await scene(t);
    const waiting = begin(['submit', '-', '--wait'], { env, stdin: jobOf('a.yaml') });
    const [job] = await until('the job', async () => {
      const jobs = await server.client.call('listJobs');
      return jobs.length > 0 && jobs;
    });
    assert.equal((await ctl('cancel', job?.id ?? '')).code, 0);
    assert.equal((await waiting.outcome).code, 1);
  });

  it('when the job had failed before; a retried job is waited for again', async (t) => {
    const { ctl, submit, play } = await scene(t);
    const id = await submit('pls.yaml');
    const worker = await play();
    await worker.fail(await worker.take(), 'once');
    assert.equal((await ctl('wait', id)).code, 1);
    assert.match((await ctl('retry', id)).stdout, /is queued again/);
    const waiting = ctl('wait', id);
    await worker.complete(await worker.take());
    assert.equal((await waiting).code, 0, 'the old end in the history is not taken for the new one');
  });
});

describe('exit code 2', () => {
  it('for an id that does not exist, with what to do next', async (t) => {
    const { ctl } = await scene(t);
    for (const command of ['status', 'logs', 'cancel', 'ranking', 'artifacts', 'retry', 'wait']) {
      const { code, stdout, stderr } = await ctl(command, 'job_nowhere');
      assert.equal(code, 2, command);
      assert.match(
        stderr,
        /no job with id 'job_nowhere'\nnor is one called so; list the jobs with: jqctl jobs/,
      );
      assert.equal(stdout, '');
    }
  });

  it('for what the state of the job does not allow', async (t) => {
    const { ctl, submit } = await scene(t);
    const { code, stderr } = await ctl('retry', await submit('pls.yaml'));
    assert.equal(code, 2);
    assert.match(stderr, /^error: .*queued/);
  });

  it('for what this server alone refuses', async (t) => {
    const { env } = await scene(t);
    const stdin =
      'type: mljs.run\npipeline: {kind: python_entrypoint, entrypoint: mod}\ndataset: {kind: catalog, catalog_id: c}\n';
    const { code, stderr } = await run(['submit', '-'], { env, stdin });
    assert.equal(code, 2);
    assert.match(stderr, /--allow-python-jobs/);
  });

  it('for an idempotency key that was used for another job; the same job is answered with the same id', async (t) => {
    const { env } = await scene(t);
    const submit = (stdin: string) => run(['submit', '-', '--idempotency-key', 'k'], { env, stdin });
    const first = await submit(jobOf('a.yaml'));
    assert.equal((await submit(jobOf('a.yaml'))).stdout, first.stdout);
    const other = await submit(jobOf('b.yaml'));
    assert.equal(other.code, 2);
    assert.match(other.stderr, /choose another one/);
  });
});

describe('exit code 3', () => {
  const COMMANDS = ['status', 'logs', 'cancel', 'ranking', 'artifacts', 'retry', 'wait'].map((command) => [
    command,
    'job_1',
  ]);
  it('for a wrong token and for none, on every command', async (t) => {
    const { server } = await scene(t, { token: 'right' });
    for (const argv of [...COMMANDS, ['jobs'], ['workers'], ['stats']]) {
      for (const token of [[], ['--token', 'wrong']]) {
        const { code, stdout, stderr } = await run([...argv, '--server', server.url, ...token]);
        assert.equal(code, 3, argv[0]);
        assert.match(stderr, /--token or JQ_TOKEN/);
        assert.equal(stdout, '');
      }
    }
  });

  it('for a right that the credential lacks', async (t) => {
    const { server } = await scene(t, { principals: ['eve:sees:viewer'] });
    const env = { JQ_SERVER: server.url, JQ_TOKEN: 'sees' };
    assert.equal((await run(['jobs'], { env })).code, 0);
    const { code, stderr } = await run(['submit', '-'], { env, stdin: jobOf('a.yaml') });
    assert.equal(code, 3);
    assert.match(stderr, /principal 'eve' lacks required right\(s\): submit/);
  });

  it('is avoided by the flag, which goes before the environment', async (t) => {
    const { server } = await scene(t, { token: 'right' });
    const env = { JQ_SERVER: 'http://127.0.0.1:1', JQ_TOKEN: 'wrong' };
    assert.equal((await run(['stats', '--server', server.url, '--token', 'right'], { env })).code, 0);
  });
});

describe('exit code 4', () => {
  it('when nobody answers at the address, on every command', async (t) => {
    const file = join(await temporaryDirectory(t), 'job.json');
    await writeFile(file, jobOf('a.yaml'));
    const commands = [
      ['submit', file],
      ['status', 'j'],
      ['logs', 'j', '-f'],
      ['cancel', 'j'],
      ['artifacts', 'j'],
      ['retry', 'j'],
      ['wait', 'j'],
      ['jobs'],
      ['workers'],
      ['stats'],
    ];
    for (const argv of commands) {
      const { code, stdout, stderr } = await run([...argv, '--server', 'http://127.0.0.1:1']);
      assert.equal(code, 4, argv[0]);
      assert.match(stderr, /cannot reach http:\/\/127\.0\.0\.1:1 \(ECONNREFUSED\)\n.*jqctl server/);
      assert.equal(stdout, '');
    }
  });
});

describe('exit code 5', () => {
  it('when the job has not ended in time; it goes on', async (t) => {
    const { server, ctl, submit } = await scene(t);
    const id = await submit('pls.yaml');
    const { code, stdout, stderr } = await ctl('wait', id, '--timeout', '0.2');
    assert.equal(code, 5);
    assert.match(
      stderr,
      new RegExp(`not ended after 0\\.2 s; ${id} goes on\\ncome back with: jqctl wait ${id}`),
    );
    assert.equal(stdout, '');
    assert.equal((await server.client.call('getJob', { params: { id } })).status, 'queued');
  });

  it('under --json with the job in its present state', async (t) => {
    const { env } = await scene(t);
    const stdin = jobOf('a.yaml');
    const { code, stdout } = await run(['submit', '-', '--wait', '--timeout', '0.2', '--json'], {
      env,
      stdin,
    });
    assert.equal(code, 5);
    assert.equal(JSON.parse(stdout).status, 'queued');
  });
});

describe('exit code 130', () => {
  for (const command of [['wait'], ['logs', '--follow']]) {
    it(`when Ctrl-C ends ${command.join(' ')}; the job goes on`, async (t) => {
      const { server, env, submit, play } = await scene(t);
      const id = await submit('pls.yaml');
      const worker = await play();
      const { child, said, outcome } = start('jqctl', [...command, id], env);
      await worker.take();
      await until('the move', () => /started/.test(said.stdout + said.stderr));
      child.kill('SIGINT');
      const { code, stderr } = await outcome;
      assert.equal(code, 130);
      assert.match(stderr, new RegExp(`interrupted; ${id} goes on`));
      assert.equal((await server.client.call('getJob', { params: { id } })).status, 'running');
    });
  }
});
