import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { it } from 'node:test';
import { ModestServer } from '../support/modest-server.ts';
import { neededMembers, optionalMembers, without } from '../support/modest-views.ts';
import { Program, ROOT } from '../support/program.ts';
import { temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { pidIn, startTestWorker } from './support.ts';

/** What predicts has a model in the place of a pipeline; these tasks run one. */
const OPTIONAL = optionalMembers('TaskPayload').filter((member) => member !== 'pipeline');
const NEEDED = [...neededMembers('TaskPayload').filter((member) => member !== 'task_id'), 'pipeline'];

const payload = (task_id: string) => ({
  task_id,
  job_id: 'job_1',
  type: 'demo.run',
  attempt: 1,
  max_attempts: 2,
  pipeline: { kind: 'inline_json', inline: {} },
  dataset: { kind: 'shared_path', path: ROOT },
  params: {},
  outputs: { export_best_model: true, keep_task_workspace: false },
  requirements: {},
  timeout_seconds: null,
  rank_metric: 'best_rmse',
  lease_expires_at: 1_750_000_000,
  assignment: { mode: 'server_leased_executor', worker_id: 'worker_1' },
});

const SCRIPT = `while [ $# -gt 0 ]; do
  [ "$1" = --result-file ] && result=$2
  [ "$1" = --output-dir ] && out=$2
  shift
done
echo model > "$out/best_model.txt"
echo '{"status":"succeeded","metrics":{"best_rmse":1}}' > "$result"
`;

it('a worker that has to end reports to a server that cannot take tasks back that it was stopped: nobody is at fault', async (t) => {
  const mark = join(await temporaryDirectory(t), 'pid');
  const params = { do: 'sleep', mark };
  const server = await ModestServer.start(t, { leases: [{ ...payload('task_1'), params }] });
  const worker = await startTestWorker(t, server);
  await pidIn(mark);
  worker.cancelRunning();
  await worker.ended;
  assert.deepEqual(server.bodiesOf(/\/tasks\/task_1\/fail$/), [{ error: 'worker stopped', retriable: true }]);
});

it('a worker whose server leaves out optional members runs every task that it can, fails those that it cannot read, and drains', async (t) => {
  const folder = await temporaryDirectory(t);
  await writeFile(join(folder, 'run.sh'), SCRIPT);
  const leases = [
    // Of what has no id nothing can be said; what follows is taken all the same.
    without(payload('x'), ['task_id']),
    without(payload('all'), OPTIONAL),
    ...OPTIONAL.map((member) => without(payload(`no-${member}`), [member])),
    ...NEEDED.map((member) => without(payload(`lacks-${member}`), [member])),
  ];
  const server = await ModestServer.start(t, { leases, token: 's3cret' });
  const runner = `sh ${join(folder, 'run.sh')}`;
  const worker = new Program(
    process.execPath,
    [
      `${ROOT}bin/jq-worker`,
      ...['--server', server.url, '--state', join(folder, 'state'), '--slots', '4', '--json'],
      ...['--runner', `demo=${runner}`, '--runner', `nirs4all=${runner}`],
    ],
    { JQ_TOKEN: 's3cret' },
  );
  t.after(() => worker.kill());
  const ended = (verb: string) =>
    server.seen.flatMap(({ line }) => new RegExp(`^POST /v1/tasks/(.+)/${verb}$`).exec(line)?.[1] ?? []);
  const all = ['all', ...OPTIONAL.map((member) => `no-${member}`)];
  await until(
    'every task to end',
    () => ended('complete').length + ended('fail').length >= leases.length - 1,
    // A process each.
    180,
  );
  assert.deepEqual(ended('complete').sort(), all.sort());
  assert.deepEqual(ended('fail').sort(), NEEDED.map((member) => `lacks-${member}`).sort());
  for (const member of NEEDED) {
    const [{ error, retriable }] = server.bodiesOf(new RegExp(`/tasks/lacks-${member}/fail$`));
    assert.equal(error, `this worker cannot read the task: the server leased it without '${member}'`);
    assert.equal(retriable, true);
  }
  const uploads = server.seen.filter(({ line }) => line === 'POST /v1/tasks/all/artifacts');
  const named = uploads.map(({ body }) => /Content-Disposition: (.*)\r\n/.exec(body)?.[1]);
  assert.deepEqual(named.sort(), [
    'form-data; name="file"; filename="best_model.txt"',
    'form-data; name="file"; filename="run.log"',
  ]);
  const [result] = server.bodiesOf(/\/tasks\/all\/complete$/);
  assert.ok(result.artifacts.model && result.artifacts.logs);

  assert.equal((await worker.terminate()).code, 0, worker.stderr);
  // A server that opens no sessions would lease a task to a withdrawal.
  const asked = server.bodiesOf(/\/lease$/).map(({ max_tasks }) => max_tasks);
  assert.ok(asked.length > 0 && !asked.includes(0), String(asked));
  assert.doesNotMatch(worker.stderr, /\[object Object\]|undefined|NaN/);
});

it('a worker that gets no id from its registration ends with a clear message', async (t) => {
  const folder = await temporaryDirectory(t);
  const server = await ModestServer.start(t, { leaveOut: { WorkerRegistered: ['worker_id'] } });
  const worker = new Program(process.execPath, [
    `${ROOT}bin/jq-worker`,
    ...['--server', server.url, '--state', join(folder, 'state'), '--log-level', 'error'],
  ]);
  t.after(() => worker.kill());
  assert.equal((await worker.ended).code, 4, worker.stderr);
  assert.match(worker.stderr, /the answer to POST \/v1\/workers\/register lacks 'worker_id'/);
});
