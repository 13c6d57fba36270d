import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { after, before, describe, it } from 'node:test';
import type { ProgramName } from '../../bin/program.ts';
import { heard } from '../support/heard.ts';
import { quietPort } from '../support/program.ts';
import { requires } from '../support/requires.ts';
import { temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { EXAMPLE, ROOT, start } from './cli-support.ts';
import { aJob, anEvent, aTask, fakeServer } from './fake-server.ts';

/** Starts a program through a shell that leads its streams elsewhere; what stays of its stderr is kept. */
function led(redirection: string, program: ProgramName, argv: string[], env: Record<string, string> = {}) {
  const child = spawn('sh', ['-c', `exec bin/${program} "$@" ${redirection}`, 'sh', ...argv], {
    cwd: ROOT,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  return heard(child);
}

describe('output that cannot be written', requires('dev full'), () => {
  let server: Awaited<ReturnType<typeof fakeServer>>;
  before(async () => {
    server = await fakeServer({
      'GET /v1/jobs': { body: [aJob()] },
      'POST /v1/jobs': { body: aJob() },
      'GET /v1/jobs/job_1': { body: aJob() },
      'GET /v1/jobs/job_2': { body: aJob({ id: 'job_2', status: 'failed' }) },
      'GET /v1/jobs/job_1/tasks': { body: [aTask()] },
      'GET /v1/jobs/job_2/tasks': { body: [] },
      'GET /v1/machines/task': { body: 'queued -> leased' },
      'GET /v1/jobs/job_1/events': { body: [anEvent({ type: 'log', message: 'x', task_id: 'task_1' })] },
    });
  });
  after(() => server.stop());
  const env = () => ({ JQ_SERVER: server.url });

  const lines: [ProgramName, ...string[]][] = [
    ['jqctl', '--help'],
    ['jqctl', '--version'],
    ['jqctl', 'jobs'],
    ['jqctl', 'jobs', '--json'],
    ['jqctl', 'status', 'job_1'],
    ['jqctl', 'wait', 'job_1'],
    ['jqctl', 'wait', 'job_2'],
    ['jqctl', 'logs', 'job_1'],
    ['jqctl', 'submit', EXAMPLE],
    ['jqctl', 'machines', 'task', '--format', 'ascii'],
    ['jqctl', 'completion', 'bash'],
    ['jqctl', 'complete', 'jobs', 'jqctl status '],
    ['jq-server', '--help'],
    ['jq-worker', '--help'],
  ];
  for (const [program, ...argv] of lines) {
    it(`ends ${[program, ...argv].join(' ')} with one sentence and exit code 74`, async () => {
      const { code, stderr: said } = await led('> /dev/full', program, argv, env()).outcome;
      assert.match(said, /^error: cannot write the output: no space left on the device$/m);
      assert.doesNotMatch(said, /\n +at /, 'no stack trace');
      assert.equal(code, 74);
    });
  }

  it('on stderr alone changes no exit code', async () => {
    const code = async (...argv: string[]) => (await led('2> /dev/full', 'jqctl', argv, env()).outcome).code;
    assert.equal(await code('jobs'), 0);
    assert.equal(await code('wait', 'job_2'), 1);
    assert.equal(await code('jobs', '--bogus'), 2);
  });

  it('because its reader has gone does not change the exit code of a wait', async () => {
    const { child, outcome } = start('jqctl', ['wait', 'job_2', '--server', server.url]);
    child.stdout.destroy();
    const { code, stderr } = await outcome;
    assert.deepEqual([code, stderr], [1, '']);
  });
});

describe('a program that serves', requires('dev full'), () => {
  for (const [where, redirection, ...flags] of [
    ['its log file', '', '--log-file', '/dev/full'],
    ['its log and its messages', '2> /dev/full'],
    ['the events of --json', '> /dev/full', '--json'],
  ] as [string, string, ...string[]][]) {
    it(`starts, serves and ends as usual although there is no room for ${where}`, async (t) => {
      const state = await temporaryDirectory(t);
      const port = await quietPort();
      const argv = ['--state', state, '--port', String(port), ...flags];
      const { child, outcome } = led(redirection, 'jq-server', argv);
      t.after(() => child.kill('SIGKILL'));
      await until('the server', () =>
        fetch(`http://127.0.0.1:${port}/healthz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      );
      child.kill('SIGTERM');
      const { code, stderr: said } = await outcome;
      assert.equal(code, 0, said);
      assert.doesNotMatch(said, /\n +at /, 'no stack trace');
    });
  }
});
