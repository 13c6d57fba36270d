import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { objectPath } from '../../actors/server/blobs/paths.ts';
import { inTime } from '../support/in-time.ts';
import { JOB } from '../support/job.ts';
import { temporaryDirectory } from '../support/server.ts';
import { type ServerProgramOptions, startServerProgram } from '../support/server-program.ts';

/** A server process and what a client does with it. */
async function serve(t: TestContext, options: ServerProgramOptions) {
  const server = await startServerProgram(options);
  t.after(() => server.kill());
  const post = (path: string, body: unknown) =>
    fetch(server.url + path, { method: 'POST', body: JSON.stringify(body) });
  const upload = async (bytes: Buffer) => {
    const body = new FormData();
    body.set('file', new Blob([bytes]), 'file');
    const answer = await fetch(`${server.url}/v1/artifacts`, { method: 'POST', body });
    return { status: answer.status, ...((await answer.json()) as { artifact_id: string; code?: string }) };
  };
  /** The status and code of a refusal, or what came of the bytes. */
  const download = async (id: string, init: RequestInit = {}) => {
    const answer = await fetch(`${server.url}/v1/artifacts/${id}`, init);
    if (answer.status >= 400) {
      const code = init.method === 'HEAD' ? '' : ((await answer.json()) as { code: string }).code;
      return `${answer.status} ${code}`.trim();
    }
    return answer.arrayBuffer().then(
      (bytes) => Buffer.from(bytes),
      () => 'broken off',
    );
  };
  return { server, post, upload, download };
}

describe('an artifact whose bytes are damaged on the disk of the server', () => {
  for (const size of [1000, 3_000_000]) {
    it(`is never served as intact, and counts as lost, also after a restart, until it is uploaded again: ${size} bytes`, async (t) => {
      const state = await temporaryDirectory(t);
      const bytes = randomBytes(size);
      const path = join(state, objectPath(createHash('sha256').update(bytes).digest('hex')));
      const first = await serve(t, { state });
      const { artifact_id } = await first.upload(bytes);
      assert.deepEqual(await first.download(artifact_id), bytes);

      const rotten = readFileSync(path);
      for (const at of [10, 500, 900]) rotten[at] = (rotten[at] as number) ^ 0x10;
      writeFileSync(path, rotten);
      const outcome = await first.download(artifact_id);
      assert.equal(outcome, size > 1_000_000 ? 'broken off' : '410 artifact_lost');
      assert.equal(await first.download(artifact_id), '410 artifact_lost');
      assert.match(first.server.stderr, /damaged and were put aside/);
      await first.server.terminate();

      const second = await serve(t, { state });
      for (const init of [{}, { method: 'HEAD' }, { headers: { Range: 'bytes=0-9' } }]) {
        assert.match(String(await second.download(artifact_id, init)), /^410/);
      }
      assert.equal((await second.upload(bytes)).status, 200);
      assert.deepEqual(await second.download(artifact_id), bytes);
      rmSync(path);
      assert.equal(await second.download(artifact_id), '410 artifact_lost');
      assert.equal((await second.upload(bytes)).status, 200);
      assert.deepEqual(await second.download(artifact_id), bytes);
    });
  }
});

describe('an artifact in whose place a pipe lies', () => {
  it('is told to be lost at once, until it is uploaded again', async (t) => {
    const state = await temporaryDirectory(t);
    const bytes = randomBytes(1000);
    const path = join(state, objectPath(createHash('sha256').update(bytes).digest('hex')));
    const { upload, download } = await serve(t, { state });
    const { artifact_id } = await upload(bytes);
    rmSync(path);
    execFileSync('mkfifo', [path]);
    assert.equal(await inTime('an answer', download(artifact_id), 20), '410 artifact_lost');
    assert.equal((await upload(bytes)).status, 200);
    assert.deepEqual(await download(artifact_id), bytes);
  });
});

describe('a disk with less room than --reserve-mb', () => {
  it('accepts no artifacts, while jobs and the reports of workers go on', async (t) => {
    const { upload, post } = await serve(t, { state: await temporaryDirectory(t), reserveMb: 1e9 });
    const { status, code } = await upload(randomBytes(10));
    assert.deepEqual([status, code], [507, 'no_room']);
    const { id } = (await (await post('/v1/jobs', JOB)).json()) as { id: string };
    const version = { packages: { demo: '1' } };
    const worker = (await (await post('/v1/workers/register', { version })).json()) as { worker_id: string };
    const { task } = (await (await post(`/v1/workers/${worker.worker_id}/lease`, {})).json()) as {
      task: { task_id: string; job_id: string };
    };
    assert.equal(task.job_id, id);
    for (const [report, body] of [
      ['start', {}],
      ['complete', { status: 'succeeded' }],
    ] as const) {
      const answer = await post(`/v1/tasks/${task.task_id}/${report}?worker_id=${worker.worker_id}`, body);
      assert.equal(answer.status, 200, await answer.text());
    }
  });
});
