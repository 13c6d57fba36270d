// Leaves a server in the middle of its work, by requests that every version understands. The fixtures beside it were made
// so: the sources of a commit were started with an empty state directory, this was run (`node middle-of-work.mjs URL`),
// the server was ended by SIGKILL, and its store was written down as SQL.
const [url] = process.argv.slice(2);
let worker;
async function ask(method, path, body) {
  const json = body !== undefined && !(body instanceof FormData);
  const init = {
    method,
    body: json ? JSON.stringify(body) : body,
    headers: json ? { 'content-type': 'application/json' } : {},
  };
  const response = await fetch(url + path, init);
  const text = await response.text();
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return JSON.parse(text);
}
const file = (text, name) => {
  const form = new FormData();
  form.set('file', new Blob([text]), name);
  return form;
};
const job = (name, pipelines, more = {}) =>
  ask('POST', '/v1/jobs', {
    type: 'mljs.run',
    name,
    pipelines: pipelines.map((path) => ({ kind: 'path', path: `/p/${path}.yaml` })),
    dataset: { kind: 'shared_path', path: '/data/corn', name: 'corn' },
    ...more,
  });
const lease = async () => (await ask('POST', `/v1/workers/${worker}/lease`, { wait_s: 5 })).task;
const report = (task, verb, body) =>
  ask('POST', `/v1/tasks/${task.task_id}/${verb}?worker_id=${worker}&attempt=${task.attempt}`, body);

worker = (
  await ask('POST', '/v1/workers/register', {
    name: 'w',
    labels: { site: 'lab-a' },
    capabilities: { memory_gb: 8 },
    slots_total: 8,
    version: { node: '20.0.0', cluster: '0.1.0', packages: { mljs: '0.1.0' } },
  })
).worker_id;
await ask('POST', '/v1/artifacts', file('an input', 'input.csv'));
await job('failed', ['bad'], { retry: { max_attempts: 1 } });
const bad = await lease();
await report(bad, 'start', {});
await report(bad, 'fail', { error: 'it makes no sense', retriable: false });
await job('cancelling', ['long']);
await report(await lease(), 'start', {});
const [cancelling] = await ask('GET', '/v1/jobs?name=cancelling');
await job('in the middle', ['one', 'two', 'three', 'four'], { idempotency_key: 'key of the middle' });
const one = await lease();
await report(one, 'start', {});
await report(one, 'events', { type: 'progress', message: 'half', progress: 0.5 });
const model = await ask(
  'POST',
  `/v1/tasks/${one.task_id}/artifacts?role=model&worker_id=${worker}`,
  file('a model', 'best_model.json'),
);
await report(one, 'complete', {
  status: 'succeeded',
  duration_seconds: 1.5,
  metrics: { best_rmse: 0.25 },
  artifacts: { model: model.artifact_id },
});
await report(await lease(), 'start', {});
await lease();
await ask('POST', `/v1/jobs/${cancelling.id}/cancel`);
await job('queued', ['later'], { priority: -1 });
for (const { name, status } of await ask('GET', '/v1/jobs')) console.log(status, name);
