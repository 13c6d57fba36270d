import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it, type TestContext } from 'node:test';
import WebSocket from 'ws';
import { serverMetrics } from '../design/documents/metrics.ts';
import { bearer } from '../gateway/support.ts';
import { scrape, seriesOf } from '../support/exposition.ts';
import { fillable } from '../support/full-disk.ts';
import { JOB } from '../support/job.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { until } from '../support/until.ts';

const job = (more: object = {}) => ({ ...JOB, ...more });

/** A worker that speaks the protocol by hand. */
async function playedWorker({ client }: TestServer, packages: Record<string, string> = { demo: '1' }) {
  const { worker_id } = await client.call('registerWorker', {
    body: { version: { packages }, slots_total: 2 },
  });
  return {
    worker_id,
    async lease() {
      const { task } = await client.call('lease', { params: { id: worker_id }, body: {} });
      assert.ok(task);
      return { params: { id: task.task_id }, query: { worker_id, attempt: task.attempt } };
    },
  };
}

async function metricsIn(server: TestServer, form: string) {
  const answer = await fetch(`${server.url}/metrics`, { headers: { Accept: form } });
  return { type: answer.headers.get('content-type') ?? '', text: await answer.text() };
}

describe('the text of the metrics', () => {
  it('has the Prometheus format, or OpenMetrics on request, with the same counters by the same names', async (t) => {
    const server = await startTestServer(t);
    await server.client.call('submitJob', { body: job() });
    const open = await metricsIn(server, 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5');
    const plain = await metricsIn(server, 'text/plain');
    const any = await metricsIn(server, '*/*');
    const refused = await metricsIn(server, 'application/openmetrics-text;q=0, text/plain');
    assert.match(open.type, /^application\/openmetrics-text; version=1\.0\.0/);
    assert.ok(open.text.endsWith('# EOF\n'));
    for (const { type, text } of [plain, any, refused]) {
      assert.match(type, /^text\/plain; version=0\.0\.4/);
      assert.equal(seriesOf(text).get('jq_jobs_submitted_total{type="demo.run"}'), 1);
    }
    assert.equal(seriesOf(open.text).get('jq_jobs_submitted_total{type="demo.run"}'), 1);
    const names = (text: string) => [...seriesOf(text).keys()].filter((name) => !name.startsWith('jq_http'));
    assert.deepEqual(names(open.text), names(plain.text));
  });

  it('has every metric that docs/metrics.md describes, and no other', async (t) => {
    const { text } = await metricsIn(await startTestServer(t), 'text/plain');
    const told = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => `${name} ${type}`);
    assert.deepEqual(
      told.sort(),
      serverMetrics()
        .map(({ name, type }) => `${name} ${type}`)
        .sort(),
    );
  });

  it('needs the right to read, and no credential with --metrics-open', async (t) => {
    const principals = ['ann:token-of-ann:submitter', 'lab:token-of-lab:executor', 'bob:token-of-bob:viewer'];
    const closed = await startTestServer(t, { principals });
    const open = await startTestServer(t, { principals, metricsOpen: true });
    assert.equal((await fetch(`${closed.url}/metrics`)).status, 401);
    assert.ok((await scrape(closed.url, bearer('token-of-bob'))).size > 50);
    assert.ok((await scrape(open.url)).size > 50);
    assert.equal((await fetch(`${open.url}/v1/stats`)).status, 401);
  });
});

describe('what is counted', () => {
  it('includes submissions, leases, and tasks by how they ended and whose fault it was', async (t) => {
    const server = await startTestServer(t);
    const { client } = server;
    const { lease } = await playedWorker(server);
    const submit = (max_attempts: number) =>
      client.call('submitJob', { body: job({ retry: { max_attempts } }) });
    await submit(1);
    const good = await lease();
    await client.call('startTask', good);
    await client.call('completeTask', { ...good, body: {} });
    await submit(2);
    for (const fault of ['task', 'input'] as const) {
      const bad = await lease();
      await client.call('startTask', bad);
      await client.call('failTask', { ...bad, body: { error: 'no', fault } });
    }
    const cancelled = await submit(1);
    await client.call('cancelJob', { params: { id: cancelled.id } });
    const found = await scrape(server.url);
    const counted = (name: string) => [name, found.get(name)];
    assert.deepEqual(
      [
        'jq_jobs_submitted_total{type="demo.run"}',
        'jq_jobs_ended_total{type="demo.run",end="succeeded"}',
        'jq_jobs_ended_total{type="demo.run",end="failed"}',
        'jq_jobs_ended_total{type="demo.run",end="cancelled"}',
        'jq_tasks_submitted_total',
        'jq_tasks_ended_total{end="succeeded"}',
        'jq_tasks_ended_total{end="failed"}',
        'jq_tasks_ended_total{end="cancelled"}',
        'jq_tasks_ended_total{end="reused"}',
        'jq_task_failures_total{fault="task",requeued="true"}',
        'jq_task_failures_total{fault="input",requeued="false"}',
        'jq_task_failures_total{fault="worker",requeued="true"}',
        'jq_tasks_requeued_total{reason="failure"}',
        'jq_leases_total',
        'jq_lease_latency_seconds_count',
        'jq_task_queue_seconds_count{type="demo.run"}',
        'jq_task_run_seconds_count{type="demo.run"}',
        'jq_worker_changes_total{change="registered"}',
        'jq_jobs{status="cancelled"}',
      ].map(counted),
      [
        ['jq_jobs_submitted_total{type="demo.run"}', 3],
        ['jq_jobs_ended_total{type="demo.run",end="succeeded"}', 1],
        ['jq_jobs_ended_total{type="demo.run",end="failed"}', 1],
        ['jq_jobs_ended_total{type="demo.run",end="cancelled"}', 1],
        ['jq_tasks_submitted_total', 3],
        ['jq_tasks_ended_total{end="succeeded"}', 1],
        ['jq_tasks_ended_total{end="failed"}', 1],
        ['jq_tasks_ended_total{end="cancelled"}', 1],
        ['jq_tasks_ended_total{end="reused"}', 0],
        ['jq_task_failures_total{fault="task",requeued="true"}', 1],
        ['jq_task_failures_total{fault="input",requeued="false"}', 1],
        ['jq_task_failures_total{fault="worker",requeued="true"}', 0],
        ['jq_tasks_requeued_total{reason="failure"}', 1],
        ['jq_leases_total', 3],
        ['jq_lease_latency_seconds_count', 3],
        ['jq_task_queue_seconds_count{type="demo.run"}', 3],
        ['jq_task_run_seconds_count{type="demo.run"}', 3],
        ['jq_worker_changes_total{change="registered"}', 1],
        ['jq_jobs{status="cancelled"}', 1],
      ],
    );
  });

  it('is only what was committed', async (t) => {
    const disk = fillable();
    const server = await startTestServer(t, { hooks: disk.hooks });
    const ready = async () => (await fetch(`${server.url}/readyz`)).status;
    assert.equal(await ready(), 200);
    disk.isFull = true;
    await assert.rejects(server.client.call('submitJob', { body: job() }));
    assert.equal(await ready(), 503);
    const without = await scrape(server.url);
    assert.equal(without.get('jq_jobs_submitted_total{type="demo.run"}'), undefined);
    assert.equal(without.get('jq_tasks_submitted_total'), 0);
    assert.ok((without.get('jq_commit_failures_total') ?? 0) > 0);
    assert.equal(without.get('jq_ready'), 0);
    disk.isFull = false;
    await until('the server commits again', async () => (await ready()) === 200);
    await server.client.call('submitJob', { body: job() });
    const found = await scrape(server.url);
    assert.equal(found.get('jq_jobs_submitted_total{type="demo.run"}'), 1);
    assert.equal(found.get('jq_ready'), 1);
  });

  it('does not include events of a worker that use the names of the server', async (t) => {
    const server = await startTestServer(t);
    const { lease } = await playedWorker(server);
    await server.client.call('submitJob', { body: job() });
    const held = await lease();
    const before = await scrape(server.url);
    for (const type of ['task_failed', 'task_lost', 'worker_evil', 'job_failed', 'task_leased'])
      await server.client.call('reportEvents', { ...held, body: { type, message: 'm' } });
    const after = await scrape(server.url);
    const own = (found: Map<string, number>) =>
      [...found].filter(([name]) => /^jq_(task|job|lease|worker)/.test(name) && !name.includes('_bucket'));
    assert.deepEqual(own(after), own(before));
  });
});

describe('the labels of metrics are bounded', () => {
  it('the 20 requirements with the most tasks have their own labels, and the others one together', async (t) => {
    const server = await startTestServer(t);
    for (let i = 0; i < 25; i++) {
      const pipelines = Array.from({ length: i < 22 ? 2 : 1 }, () => job().pipeline);
      const { pipeline: _, ...rest } = job();
      const body = { ...rest, pipelines, requirements: { labels: { site: `lab-${i}` } } };
      await server.client.call('submitJob', { body });
    }
    const found = await scrape(server.url);
    const queued = [...found].filter(([name]) => name.startsWith('jq_queue_tasks{status="queued"'));
    assert.equal(queued.length, 21);
    assert.equal(
      queued.reduce((sum, [, count]) => sum + count, 0),
      22 * 2 + 3,
    );
    assert.equal(found.get('jq_queue_tasks{status="queued",requirement="other"}'), 2 * 2 + 3);
    assert.equal(
      found.get('jq_queue_tasks{status="queued",requirement="packages.demo, labels.site=lab-0"}'),
      2,
    );
    const ages = [...found].filter(([name]) => name.startsWith('jq_queue_oldest_age_seconds'));
    assert.equal(ages.length, 21);
    assert.ok(ages.every(([, age]) => age >= 0 && age < 600));
  });

  it('20 types of jobs have their own labels, and the others one together', async (t) => {
    const server = await startTestServer(t);
    for (let i = 0; i < 25; i++)
      await server.client.call('submitJob', { body: job({ type: `lib${i}.run` }) });
    const found = await scrape(server.url);
    const types = [...found].filter(([name]) => name.startsWith('jq_jobs_submitted_total'));
    assert.equal(types.length, 21);
    assert.equal(found.get('jq_jobs_submitted_total{type="other"}'), 5);
  });

  it('requests are labelled by their routes, never by their paths', async (t) => {
    const server = await startTestServer(t);
    for (let i = 0; i < 30; i++) {
      await fetch(`${server.url}/v1/jobs/job_${i}`);
      await fetch(`${server.url}/nothing/${i}`);
    }
    await fetch(`${server.url}/v1/jobs/job_1`, { method: 'PUT' });
    const found = await scrape(server.url);
    const requests = [...found].filter(([name]) => name.startsWith('jq_http_requests_total'));
    assert.deepEqual(Object.fromEntries(requests), {
      'jq_http_requests_total{method="GET",route="/v1/jobs/{id}",status="404"}': 30,
      'jq_http_requests_total{method="none",route="none",status="404"}': 30,
      'jq_http_requests_total{method="none",route="none",status="405"}': 1,
    });
  });
});

describe('what is measured at the moment of a request', () => {
  it('includes tasks and slots that are held, and workers that wait', async (t: TestContext) => {
    const server = await startTestServer(t);
    const { lease, worker_id } = await playedWorker(server);
    await server.client.call('submitJob', { body: job() });
    await server.client.call('startTask', await lease());
    const waiting = server.client.call('lease', { params: { id: worker_id }, body: { wait_s: 20 } });
    const found = await until('the lease waits', async () => {
      const now = await scrape(server.url);
      return now.get('jq_lease_requests_waiting') === 1 && now;
    });
    assert.equal(found.get('jq_queue_tasks{status="running",requirement="packages.demo"}'), 1);
    assert.equal(found.get('jq_slots{state="used"}'), 1);
    assert.equal(found.get('jq_slots{state="free"}'), 1);
    assert.equal(found.get('jq_workers{state="busy"}'), 1);
    await server.client.call('submitJob', { body: job() });
    assert.ok((await waiting).task);
  });

  it('includes open streams, and of closed ones how they ended', async (t) => {
    const principals = ['ann:token-of-ann:admin'];
    const server = await startTestServer(t, { principals, metricsOpen: true });
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/v1/events/stream`, {
      headers: bearer('token-of-ann'),
    });
    await once(socket, 'open');
    await server.clientWith('token-of-ann').call('submitJob', { body: job() });
    await until('a frame was sent', async () => {
      const found = await scrape(server.url);
      return found.get('jq_stream_frames_total{topic="events"}') === 1;
    });
    assert.equal((await scrape(server.url)).get('jq_streams{topic="events"}'), 1);
    socket.close();
    await until(
      'it is closed',
      async () => (await scrape(server.url)).get('jq_streams{topic="events"}') === 0,
    );
  });

  it('includes the store, the disk and the process', async (t) => {
    const found = await scrape((await startTestServer(t)).url);
    for (const name of [
      'jq_store_bytes{file="database"}',
      'jq_disk_free_bytes',
      'jq_disk_size_bytes',
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'process_start_time_seconds',
    ])
      assert.ok((found.get(name) ?? 0) > 0, name);
    assert.ok(found.has('jq_event_loop_delay_seconds{statistic="worst"}'));
  });
});
