import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { objectPath } from '../../actors/server/blobs/paths.ts';
import { inTime } from '../support/in-time.ts';
import { JOB } from '../support/job.ts';
import { requires } from '../support/requires.ts';
import { temporaryDirectory } from '../support/server.ts';
import { type ServerProgramOptions, startServerProgram } from '../support/server-program.ts';
import { until } from '../support/until.ts';
import { smallDisk } from '../worker/small-disk.ts';

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
      await until('the line', () => /damaged and were put aside/.test(first.server.stderr));
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

describe('an artifact in whose place something else lies', () => {
  /** Makes it there. The second one makes it where something of the kind was put aside before. */
  const kinds: Record<string, (path: string) => void> = {
    'a pipe': (path) => execFileSync('mkfifo', [path]),
    'an empty folder': (path) => mkdirSync(path),
    'a folder with something in it': (path) => {
      mkdirSync(path);
      writeFileSync(join(path, 'of somebody'), 'kept');
    },
    'a link to nothing': (path) => symlinkSync('nothing', path),
    'a link to itself': (path) => symlinkSync(path, path),
  };

  it('is told to be lost at once, and comes back with its bytes, whoever asks first', async (t) => {
    const state = await temporaryDirectory(t);
    const { server, upload, download } = await serve(t, { state });
    // As many as a folder says that it has.
    const { size } = statSync(state);
    for (const [kind, make] of Object.entries(kinds)) {
      const bytes = randomBytes(size);
      const path = join(state, objectPath(createHash('sha256').update(bytes).digest('hex')));
      const { artifact_id } = await upload(bytes);
      for (const isUploadedFirst of [false, true, false]) {
        rmSync(path);
        make(path);
        if (!isUploadedFirst)
          assert.equal(await inTime('an answer', download(artifact_id), 20), '410 artifact_lost', kind);
        const { status, code } = await upload(bytes);
        assert.deepEqual([status, code], [200, undefined], kind);
        assert.deepEqual(await download(artifact_id), bytes, kind);
      }
      const left = readdirSync(dirname(path)).filter((name) => name !== basename(path));
      const kept = left.map((name) => readFileSync(join(dirname(path), name, 'of somebody'), 'utf8'));
      const isFull = kind === 'a folder with something in it';
      assert.deepEqual(kept, isFull ? ['kept', 'kept', 'kept'] : [], 'what is not the server’s stays');
    }
    assert.doesNotMatch(server.stderr, /internal fault/);
  });
});

describe('a disk of artifacts that cannot be used', () => {
  it('is told so, with what its owner has to mend in the log, and is used again once that is done', async (t) => {
    const state = await temporaryDirectory(t);
    const { server, upload, download } = await serve(t, { state });
    const bytes = randomBytes(1000);
    const { artifact_id } = await upload(bytes);
    const objects = join(state, 'objects');
    renameSync(objects, `${objects}.away`);
    writeFileSync(objects, 'a file in the place of the folder');
    const refused = await upload(bytes);
    assert.deepEqual([refused.status, refused.code], [503, 'objects_unavailable']);
    const said = await until(
      'the line',
      () => /^.*the disk of the artifacts cannot be used.*$/m.exec(server.stderr)?.[0],
    );
    assert.ok(said.includes(objects), 'which file it is');
    rmSync(objects);
    renameSync(`${objects}.away`, objects);
    assert.equal((await upload(bytes)).status, 200);
    assert.deepEqual(await download(artifact_id), bytes);
  });

  it(
    'refuses what it is to take, and gives what it has, where it was mounted for reading only',
    requires('small disk'),
    async (t) => {
      const disk = smallDisk(t, 16);
      const [state, objects] = [await temporaryDirectory(t), join(disk.path, 'objects')];
      mkdirSync(objects);
      symlinkSync(objects, join(state, 'objects'));
      const { upload, download } = await serve(t, { state });
      const [old, fresh] = [randomBytes(1000), randomBytes(1000)];
      const { artifact_id } = await upload(old);
      const mount = (how: string) => execFileSync('mount', ['-o', `remount,${how}`, disk.path]);
      mount('ro');
      const refused = await upload(fresh);
      assert.deepEqual([refused.status, refused.code], [503, 'objects_unavailable']);
      assert.deepEqual(await download(artifact_id), old);
      mount('rw');
      const taken = await upload(fresh);
      assert.deepEqual(await download(taken.artifact_id), fresh);
    },
  );
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
