import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { startTestServer } from '../support/server.ts';
import { run } from './cli-support.ts';
import { aJob, aTask, fakeServer } from './fake-server.ts';
import { jobOf, playWorker } from './played-worker.ts';

const ANN = { JQ_TOKEN: 'ann-token' };

/** A server with two submitters, and what submits a job under a name. */
async function laboratory(t: TestContext) {
  const server = await startTestServer(t, {
    principals: ['ann:ann-token:submitter', 'bob:bob-token:submitter', 'root:root-token:admin'],
  });
  const submit = async (token: string, name: string, pipelines = ['pls.yaml']) => {
    const body = { ...JSON.parse(jobOf(...pipelines)), name };
    return server.clientWith(token).call('submitJob', { body });
  };
  const at = (argv: string[], env: Record<string, string> = ANN) =>
    run(argv, { env: { JQ_SERVER: server.url, ...env } });
  return { server, submit, at };
}

/** Every command about one job, with what its answer says of which job it was. */
const COMMANDS: readonly (readonly [command: string, ...rest: string[]])[] = [
  ['status'],
  ['wait', '--timeout', '0.1'],
  ['logs', '--json'],
  ['artifacts'],
  ['cancel'],
];

describe('a command about one job', () => {
  it('accepts its id, the beginning or the end of its id, with or without an ellipsis, or its name', async (t) => {
    const { submit, at } = await laboratory(t);
    await submit('ann-token', 'other');
    const { id } = await submit('ann-token', 'Wheat 2024');
    const ways = [
      id,
      `…${id.slice(-8)}`,
      `...${id.slice(-8)}`,
      id.slice(-8),
      id.slice(0, 24),
      `${id.slice(0, 24)}…`,
    ];
    for (const text of [...ways, 'wheat 2024', ` ${id} `]) {
      const { code, stdout, stderr } = await at(['status', text, '--json']);
      assert.deepEqual([code, JSON.parse(stdout).id], [0, id], text + stderr);
    }
    for (const [command, ...rest] of COMMANDS) {
      const { stdout, stderr } = await at([command, id.slice(-8), ...rest]);
      assert.ok((stdout + stderr).includes(id), `${command}: ${stdout}${stderr}`);
    }
  });

  it('lists the candidates where that fits several, with the exit code of wrong usage, and does nothing', async (t) => {
    const { submit, at } = await laboratory(t);
    const first = await submit('ann-token', 'wheat');
    const second = await submit('bob-token', 'Wheat');
    for (const [command, ...rest] of COMMANDS) {
      for (const text of ['wheat', first.id.slice(0, 8)]) {
        const { code, stdout, stderr } = await at([command, text, ...rest]);
        assert.deepEqual([code, stdout], [2, ''], command);
        assert.match(stderr, /may be any of these jobs; write more of the id/);
        for (const { id, name } of [first, second])
          assert.match(stderr, new RegExp(`${id}  ${name}, queued`));
      }
    }
  });

  it('lists the candidates with their status, also that one succeeded with failed tasks', async (t) => {
    const { server, submit, at } = await laboratory(t);
    await submit('ann-token', 'wheat', ['pls.yaml', 'snv.yaml']);
    const client = server.clientWith('root-token', 'worker');
    const worker = await playWorker(client);
    await worker.complete(await worker.take());
    await worker.fail(await worker.take(), 'singular matrix');
    await submit('ann-token', 'wheat');
    const { stderr } = await at(['status', 'wheat']);
    assert.match(stderr, /wheat, succeeded, 1 failed, submitted/);
  });

  it('says so where that fits no job', async (t) => {
    const { submit, at } = await laboratory(t);
    await submit('ann-token', 'wheat');
    for (const text of ['whea', '…zzzzzzzz', 'job_zzzz', 'job_']) {
      const { code, stderr } = await at(['status', text]);
      assert.equal(code, 2);
      assert.match(stderr, new RegExp(`no job with id '${text}'\n.*jqctl jobs`));
    }
  });

  it('accepts --last for the job that this credential submitted last, whatever others did since', async (t) => {
    const { submit, at } = await laboratory(t);
    await submit('ann-token', 'before');
    const own = await submit('ann-token', 'own');
    await submit('bob-token', 'of another');
    for (const [command, ...rest] of COMMANDS) {
      const { stdout, stderr } = await at([command, '--last', ...rest]);
      assert.ok((stdout + stderr).includes(own.id), `${command}: ${stdout}${stderr}`);
    }
    const none = await at(['status', '--last'], { JQ_TOKEN: 'root-token' });
    assert.equal(none.code, 2);
    assert.match(none.stderr, /--last: there is no job of 'root'/);
  });

  it('needs exactly one of these, neither none nor two', async (t) => {
    const { at } = await laboratory(t);
    for (const [command] of COMMANDS) {
      const none = await at([command]);
      assert.equal(none.code, 2);
      assert.match(none.stderr, /name a job by its id, a part of it or its name, or take --last/);
      const two = await at([command, 'job_01k9', '--last']);
      assert.equal(two.code, 2);
      assert.match(two.stderr, /name a job, or --last/);
    }
  });
});

describe('options that name a task, a worker or an actor', () => {
  it('accept a part of its id, or the label that logs show', async (t) => {
    const { server, submit, at } = await laboratory(t);
    const job = await submit('ann-token', 'two', ['pls.yaml', 'snv.yaml']);
    const worker = await playWorker(server.clientWith('root-token', 'worker'));
    for (const _ of [1, 2]) {
      const task = await worker.take();
      await worker.report(task, [
        { type: 'log', message: `this is ${task.pipeline?.kind === 'path' && task.pipeline.path}` },
      ]);
      await worker.complete(task);
    }
    const [, snv] = await server.clientWith('ann-token').call('listJobTasks', { params: { id: job.id } });
    for (const text of [snv?.id ?? '', `…${snv?.id.slice(-8)}`, 'snv']) {
      const { code, stdout } = await at(['logs', '--last', '--task', text]);
      assert.equal(code, 0);
      assert.match(stdout, /this is snv/);
      assert.doesNotMatch(stdout, /this is pls/);
    }
    const wrong = await at(['logs', 'two', '--task', 'svn']);
    assert.equal(wrong.code, 2);
    assert.match(wrong.stderr, /has no task 'svn'/);
    const several = await at(['logs', 'two', '--task', 'task_0']);
    assert.equal(several.code, 2);
  });

  it('find a job, a worker and a task for inspect, active or ended', async (t) => {
    const { server, submit, at } = await laboratory(t);
    const job = await submit('ann-token', 'looked at');
    const worker = await playWorker(server.clientWith('root-token', 'worker'), 2, { name: 'bench-3' });
    const ended = await submit('ann-token', 'ended', ['pls.yaml']);
    const task = await worker.take();
    const over = await worker.take();
    assert.equal(over.job_id, ended.id);
    await worker.complete(over);
    for (const [text, id] of [
      ['looked at', job.id],
      ['bench-3', worker.worker_id],
      [worker.worker_id.slice(-8), worker.worker_id],
      [`…${task.task_id.slice(-8)}`, task.task_id],
      [`…${over.task_id.slice(-8)}`, over.task_id],
    ] as const) {
      const wrong = await at(['inspect', '--actor', `${text}x`, '--json'], { JQ_TOKEN: 'root-token' });
      assert.equal(wrong.code, 2, wrong.stderr);
      const { findActor } = await import('../../bin/jobs/find/find-actor.ts');
      assert.equal(await findActor(server.clientWith('root-token'), text), id);
    }
  });
});

describe('a server that cannot search its jobs so', () => {
  it('is asked for the text as an id where it refuses the search, and its list is searched where it answers with all jobs', async (t) => {
    const job = aJob({ id: 'job_7', name: 'wheat' });
    const answers = {
      'GET /v1/jobs/job_7': { body: job },
      'GET /v1/jobs/job_7/tasks': { body: [aTask()] },
      'GET /v1/jobs/job_7/request': { body: {} },
    };
    const refusing = await fakeServer(answers);
    t.after(() => refusing.stop());
    const answering = await fakeServer({
      ...answers,
      'GET /v1/jobs': { body: [aJob({ id: 'job_8', name: 'other' }), job] },
    });
    t.after(() => answering.stop());
    for (const [server, argv] of [
      [refusing, ['job_7']],
      [answering, ['job_7']],
      [answering, ['wheat']],
    ] as const) {
      const { code, stdout } = await run(['status', ...argv, '--server', server.url, '--json']);
      assert.deepEqual([code, JSON.parse(stdout).id], [0, 'job_7']);
    }
    const last = await run(['status', '--last', '--server', answering.url, '--json']);
    assert.match(
      last.stderr,
      /no such path|no job with id 'job_8'/,
      'its newest job, where it does not say whose',
    );
  });
});
