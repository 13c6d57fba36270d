import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { tasksNamed } from '../../bin/jobs/find/find-task.ts';
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
    const second = await submit('ann-token', 'Wheat');
    for (const [command, ...rest] of COMMANDS) {
      for (const [text, said] of [
        ['wheat', /several jobs are called 'wheat'; name one by its id, or a part of it/],
        [first.id.slice(0, 8), /may be any of these jobs; write more of the id/],
      ] as const) {
        const { code, stdout, stderr } = await at([command, text, ...rest]);
        assert.deepEqual([code, stdout], [2, ''], command);
        assert.match(stderr, said);
        for (const { id, name } of [first, second])
          assert.match(stderr, new RegExp(`${id}  ${name}, queued, submitted .* by ann`));
        assert.match(stderr, new RegExp(`the newest of them is ${second.id}`));
      }
    }
  });

  it("means one's own by a name that jobs of others have too, and theirs where one has none", async (t) => {
    const { submit, at } = await laboratory(t);
    const own = await submit('ann-token', 'wheat');
    await submit('bob-token', 'Wheat');
    await submit('bob-token', 'rye');
    await submit('bob-token', 'rye');
    for (const argv of [['status'], ['keep'], ['set', '--note', 'mine']] as const) {
      const [command = '', ...rest] = argv;
      const { code, stderr } = await at([command, 'wheat', ...rest]);
      assert.equal(code, 0, stderr);
    }
    const { stdout } = await at(['status', 'WHEAT', '--json']);
    assert.equal(JSON.parse(stdout).id, own.id);
    const theirs = await at(['status', 'rye']);
    assert.equal(theirs.code, 2);
    assert.match(theirs.stderr, /several jobs are called 'rye'(.|\n)* by bob/);
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

  it('accept a pipeline on a dataset in each way it is shown, and say which tasks a pipeline alone fits', async (t) => {
    const { server, at } = await laboratory(t);
    const body = JSON.parse(jobOf('raw.yaml', 'snv.yaml'));
    const dataset = (name: string) => ({ kind: 'shared_path', name, path: `/data/${name}` });
    const client = server.clientWith('ann-token');
    const datasets = [dataset('gas'), dataset('corn')];
    const { id } = await client.call('submitJob', {
      body: { ...body, name: 'two', dataset: undefined, datasets },
    });
    const tasks = await client.call('listJobTasks', { params: { id } });
    const meant = tasks.find((task) => task.pipeline_label === 'raw' && task.dataset_label === 'gas');
    for (const text of ['raw on gas', 'gas · raw', 'Raw on Gas']) {
      assert.deepEqual(await tasksNamed(client, id, [text]), [meant?.id]);
      assert.equal((await at(['logs', 'two', '--task', text])).code, 0);
    }
    const several = await at(['logs', 'two', '--task', 'raw']);
    assert.equal(several.code, 2);
    assert.match(several.stderr, /'raw' fits 2 tasks: (gas · raw, corn · raw|corn · raw, gas · raw)\n/);
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
