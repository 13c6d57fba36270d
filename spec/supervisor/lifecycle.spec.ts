import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startTestServer } from '../support/server.ts';

test('a job travels from submission over lease, start and completion to its ranking', async (t) => {
  const { client } = await startTestServer(t);
  const job = await client.call('submitJob', {
    text: '{"type":"demo.run","name":"first","pipeline":{"kind":"inline_json","inline":{"a":1.0}},"dataset":{"kind":"shared_path","path":"/data/x"},"params":{"alpha":1e-3,"n":12345678901234567890}}',
  });
  assert.equal(job.status, 'queued');
  const { worker_id } = await client.call('registerWorker', {
    body: { name: 'w', version: { packages: { demo: '1.0' } } },
  });
  const text = await client.callText('lease', { params: { id: worker_id }, body: {} });
  assert.match(text, /"params":\{"alpha":1e-3,"n":12345678901234567890\}/);
  const { task } = JSON.parse(text);
  const at = { params: { id: task.task_id }, query: { worker_id, attempt: 1 } };
  await client.call('startTask', at);
  await client.call('completeTask', { ...at, body: { status: 'succeeded', metrics: { best_rmse: 0.5 } } });
  const done = await client.call('getJob', { params: { id: job.id } });
  assert.equal(done.status, 'succeeded');
  assert.equal(done.aggregate.best_metric, 0.5);
  assert.equal(done.aggregate.ranking[0]?.task_id, task.task_id);
  const events = await client.call('listJobEvents', { params: { id: job.id } });
  assert.deepEqual(
    events.map((event) => event.type),
    ['job_submitted', 'task_leased', 'job_running', 'task_started', 'task_completed', 'job_succeeded'],
  );
});
