import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import { Reports } from '../../actors/worker/delivery/reports.ts';
import type { ClusterClient } from '../../gateway/client/client.ts';
import { ResponseError, UnreachableError, unreachable } from '../../gateway/client/errors.ts';
import type { TaskReport } from '../../machines/schema/report.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { CountingLine } from './counting-line.ts';
import { exists } from './folder.ts';
import { startTestWorker, submit, taskIn } from './support.ts';

const start = (task_id: string): TaskReport => ({
  type: 'start',
  task_id,
  worker_id: 'worker_1',
  attempt: 1,
});

interface Request {
  name: string;
  tasks: string[];
  answer(results: object[]): void;
  fail(fault: Error): void;
}

/** Reports to a server that the test plays. */
function played(accepts: string[] = ['report_files']) {
  const requests: Request[] = [];
  const call = (name: string, { text, params }: { text?: string; params?: { id: string } }) =>
    new Promise((resolve, reject) => {
      const tasks = text
        ? (JSON.parse(text) as { reports: TaskReport[] }).reports.map((report) => report.task_id)
        : [params?.id ?? ''];
      requests.push({ name, tasks, answer: (results) => resolve({ results }), fail: reject });
    });
  const reports = new Reports({ call } as unknown as ClusterClient);
  reports.registered({ accepts });
  const sent = (count: number) => until(`${count} requests`, () => requests.length === count);
  return { reports, requests, sent };
}

const code = (fault: unknown) => (fault instanceof ResponseError ? fault.code : String(fault));

describe('the reports of a worker', () => {
  it('of one moment go in one request, and those that arrive meanwhile go together in the next', async () => {
    const { reports, requests, sent } = played();
    const first = ['a', 'b'].map((id) => reports.send(start(id)).catch(code));
    await sent(1);
    const second = ['c', 'd', 'e'].map((id) => reports.send(start(id)).catch(code));
    requests[0]?.answer([
      { ok: true },
      { ok: false, status: 409, error: { detail: 'no', code: 'stale_attempt' } },
    ]);
    assert.deepEqual(await Promise.all(first), [{ ok: true }, 'stale_attempt']);
    await sent(2);
    requests[1]?.answer([{ ok: true }, { ok: true }, { ok: true }]);
    await Promise.all(second);
    assert.deepEqual(
      requests.map(({ name, tasks }) => [name, tasks.join('')]),
      [
        ['reportMany', 'ab'],
        ['reportMany', 'cde'],
      ],
    );
  });

  it('do not wait for a request that is late', async () => {
    const { reports, requests, sent } = played();
    const late = reports.send(start('a'));
    await sent(1);
    const next = reports.send(start('b'));
    await sent(2);
    requests[1]?.answer([{ ok: true }]);
    await next;
    requests[0]?.answer([{ ok: true }]);
    await late;
  });

  it('are sent one by one where the server refuses a request for one of them', async () => {
    const { reports, requests, sent } = played();
    const all = ['a', 'b'].map((id) => reports.send(start(id)).catch(code));
    await sent(1);
    requests[0]?.fail(new ResponseError(422, { detail: 'no', code: 'invalid_body' }));
    await sent(2);
    requests[1]?.answer([{ ok: true }]);
    await sent(3);
    requests[2]?.fail(new ResponseError(422, { detail: 'no', code: 'invalid_body' }));
    assert.deepEqual(await Promise.all(all), [{ ok: true }, 'invalid_body']);
    assert.deepEqual(
      requests.map(({ tasks }) => tasks.join('')),
      ['ab', 'a', 'b'],
    );
  });

  it('fail together where there is no answer, so that each can be repeated', async () => {
    const { reports, requests, sent } = played();
    const all = ['a', 'b'].map((id) => reports.send(start(id)));
    await sent(1);
    requests[0]?.fail(unreachable('x', new Error('reset')));
    for (const one of all) await assert.rejects(one, UnreachableError);
  });

  it('are not sent once they are aborted', async () => {
    const { reports, requests, sent } = played();
    const first = reports.send(start('a'));
    await sent(1);
    const stop = new AbortController();
    const given = reports.send(start('b'), stop.signal);
    const other = reports.send(start('c'));
    stop.abort();
    await assert.rejects(given, { name: 'AbortError' });
    requests[0]?.answer([{ ok: true }]);
    await first;
    await sent(2);
    assert.deepEqual(requests[1]?.tasks, ['c']);
    requests[1]?.answer([{ ok: true }]);
    await other;
  });

  it('are sent together only up to the size that a server reads at once', async () => {
    const { reports, requests, sent } = played();
    const long = (task_id: string): TaskReport => ({
      ...{ type: 'fail', task_id, worker_id: 'worker_1' },
      failure: { error: 'x'.repeat(30_000) },
    });
    const all = ['a', 'b'].map((id) => reports.send(long(id)));
    await sent(1);
    requests[0]?.answer([{ ok: true }]);
    await sent(2);
    requests[1]?.answer([{ ok: true }]);
    await Promise.all(all);
  });

  it('are sent one by one, when repeated, to an older server that has replaced one that accepts them together', async () => {
    const { reports, requests, sent } = played();
    const all = ['a', 'b'].map((id) => reports.send(start(id)));
    await sent(1);
    requests[0]?.fail(new ResponseError(404, { detail: 'Not Found' }));
    for (const one of all) await assert.rejects(one, UnreachableError);
    void reports.send(start('a'));
    await sent(2);
    assert.deepEqual([requests[1]?.name, reports.takeFiles], ['startTask', false]);
  });

  it('are sent one by one to a server that does not declare that it accepts them together', async () => {
    const { reports, requests, sent } = played([]);
    void reports.send(start('a'));
    void reports.send({ type: 'complete', task_id: 'b', worker_id: 'worker_1', result: {} });
    await sent(2);
    assert.deepEqual(
      requests.map(({ name, tasks }) => [name, tasks.join('')]),
      [
        ['startTask', 'a'],
        ['completeTask', 'b'],
      ],
    );
  });
});

/** Folders within folders, which are part of how a file is called. */
const DEEP = Array(15).fill('d'.repeat(230)).join('/');

describe('a small task', () => {
  async function playOne(t: TestContext, params: Record<string, unknown>, accepts: boolean) {
    const server = await startTestServer(t);
    const line = await CountingLine.to(t, server);
    if (!accepts) line.meet = withoutWord;
    const worker = await startTestWorker(t, line);
    const job = await submit(server, params);
    const task = await taskIn(server, job);
    assert.deepEqual([task.status, task.attempt], ['succeeded', 1]);
    const artifacts = await server.client.call('listJobArtifacts', { params: { id: job } });
    const files = artifacts.map(({ role, filename }) => `${role} ${filename}`);
    const asked = line.seen.filter((seen) => /\/tasks\//.test(seen)).map((seen) => seen.replace(/\?.*/, ''));
    await until('nothing is left of it', async () => !(await exists(`${worker.state}/tasks/${task.id}`)));
    return { files, asked: asked.map((seen) => seen.replace(task.id, 'ID')) };
  }

  /** A server that does not say what it accepts. */
  const withoutWord: CountingLine['meet'] = async (line, answer, outgoing) => {
    if (line !== 'POST /v1/workers/register') return false;
    const parts: Buffer[] = [];
    for await (const part of answer) parts.push(part as Buffer);
    const { accepts: _, ...said } = JSON.parse(Buffer.concat(parts).toString()) as Record<string, unknown>;
    outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(said));
    return true;
  };

  const FILES = ['logs run.log', 'model best_model.json', 'best_model best_model.json'];

  it('sends its log and its model with its report', async (t) => {
    const { files, asked } = await playOne(t, { do: 'export', bytes: 1000 }, true);
    assert.deepEqual(files, FILES);
    assert.deepEqual([...new Set(asked)], ['POST /v1/tasks/reports']);
  });

  it('uploads what is not small, and sends the rest with its report', async (t) => {
    const { files, asked } = await playOne(t, { do: 'export', bytes: 100_000 }, true);
    assert.deepEqual(files.sort(), [...FILES].sort());
    assert.equal(asked.filter((seen) => seen === 'POST /v1/tasks/ID/artifacts').length, 1);
  });

  for (const [title, folder, names, kept] of [
    ['more empty files than a report takes', '.', 'seq 1001', 1000],
    ['files whose names are longer than a report', DEEP, 'seq -f "%0230g" 300', 300],
  ] as const) {
    it(`uploads what is too much for its report of ${title}`, async (t) => {
      const script = `cd "$6"; mkdir -p ${folder}; cd ${folder}; touch $(${names}); echo '{}' > "$8"`;
      const command = ['/bin/sh', '-c', script, 'runner'];
      const server = await startTestServer(t);
      const runners = [{ library: 'demo', command, packages: { demo: '1.0' } }];
      await startTestWorker(t, server, { runners });
      const job = await submit(server, {});
      const { status, error } = await taskIn(server, job);
      assert.deepEqual([status, error], ['succeeded', null]);
      const artifacts = await server.client.call('listJobArtifacts', { params: { id: job } });
      const outputs = artifacts.filter(({ role }) => role === 'output');
      assert.equal(outputs.length, kept);
    });
  }

  it('uploads both to a server that does not declare that it accepts them with a report', async (t) => {
    const { files, asked } = await playOne(t, { do: 'export', bytes: 1000 }, false);
    assert.deepEqual(files, FILES);
    assert.deepEqual(
      asked.filter((seen) => !seen.endsWith('/events')),
      ['start', 'artifacts', 'artifacts', 'complete'].map((what) => `POST /v1/tasks/ID/${what}`),
    );
  });
});
