import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { objectPath } from '../../actors/server/blobs/paths.ts';
import { s3Location } from '../../actors/server/blobs/s3/location.ts';
import { run } from '../cli/cli-support.ts';
import { Hand, submit } from '../dashboard/hands.ts';
import { DAY, done, download } from '../retention/support.ts';
import { TestCluster } from '../support/cluster.ts';
import { Program, ROOT } from '../support/program.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { sha256 } from '../support/sha256.ts';
import { until } from '../support/until.ts';
import { newPrefix, service } from './places.ts';
import { CREDENTIALS, requiresS3, startSwift } from './services.ts';

const swift = service(startSwift);
async function place() {
  const proxy = await swift();
  const { url, bucket } = await newPrefix();
  const keys = async () => {
    const found: string[] = [];
    for await (const page of bucket.list('objects/')) found.push(...page.map(({ key }) => key));
    return found.sort();
  };
  return { proxy, url, bucket, keys };
}

/** What a client does with artifacts, as it is answered. */
function client(server: { url: string }) {
  return {
    async upload(bytes: Uint8Array) {
      const body = new FormData();
      body.set('file', new Blob([bytes]), 'file');
      const answer = await fetch(`${server.url}/v1/artifacts`, { method: 'POST', body });
      const said = (await answer.json()) as { artifact_id: string; code?: string; detail?: string };
      return { status: answer.status, retryAfter: answer.headers.get('retry-after'), ...said };
    },
    async download(id: string, init: RequestInit = {}) {
      const answer = await fetch(`${server.url}/v1/artifacts/${id}`, init);
      const bytes = Buffer.from(await answer.arrayBuffer());
      return { status: answer.status, headers: answer.headers, bytes };
    },
  };
}

const server = (...argv: string[]) => run(['--port', '0', ...argv], { program: 'jq-server' });

describe('a server whose objects lie in S3', requiresS3(), () => {
  test('takes and gives artifacts like any other: whole, in ranges, by their heads, to who has them', async (t) => {
    const { url, keys } = await place();
    const it = client(await startTestServer(t, { objects: s3Location(url) }));
    const bytes = randomBytes(9_000_000);
    const { artifact_id, status } = await it.upload(bytes);
    assert.equal(status, 200);
    assert.deepEqual(await keys(), [objectPath(sha256(bytes))]);
    const whole = await it.download(artifact_id);
    assert.deepEqual(whole.bytes, bytes);
    const etag = whole.headers.get('etag') as string;
    assert.equal(etag, `"${sha256(bytes)}"`);
    const part = await it.download(artifact_id, { headers: { range: 'bytes=8388600-8388619' } });
    assert.deepEqual([part.status, part.bytes], [206, bytes.subarray(8_388_600, 8_388_620)]);
    const head = await it.download(artifact_id, { method: 'HEAD' });
    assert.equal(head.headers.get('content-length'), '9000000');
    assert.equal((await it.download(artifact_id, { headers: { 'if-none-match': etag } })).status, 304);
    const nothing = await it.upload(Buffer.alloc(0));
    assert.equal((await it.download(nothing.artifact_id)).bytes.length, 0);
  });

  test('goes on with its leases, tasks and reads while the object store is away, says so of artifacts, and works as before afterwards', async (t) => {
    const { url, proxy } = await place();
    const state = await temporaryDirectory(t);
    const first = await startTestServer(t, { state, objects: s3Location(url) });
    const bytes = randomBytes(1000);
    const { artifact_id } = await client(first).upload(bytes);
    await proxy.stop();
    t.after(() => proxy.start().catch(() => {}));
    const isAway = async (it: ReturnType<typeof client>) => {
      const refused = await it.upload(randomBytes(10));
      assert.deepEqual([refused.status, refused.code, refused.retryAfter], [503, 'objects_unavailable', '5']);
      const given = await it.download(artifact_id);
      assert.deepEqual([given.status, given.headers.get('retry-after')], [503, '5']);
    };
    const goesOn = async ({ client }: typeof first) => {
      const hand = await Hand.register(client);
      const { id } = await submit(client);
      await hand.finish({ best_rmse: 0.5 });
      assert.equal((await client.call('getJob', { params: { id } })).status, 'succeeded');
    };
    await isAway(client(first));
    await goesOn(first);
    await first.stop();

    const second = await startTestServer(t, { state, objects: s3Location(url) });
    await isAway(client(second));
    await goesOn(second);
    await proxy.start();
    await until(
      'the artifact to be given',
      async () => (await client(second).download(artifact_id)).status === 200,
    );
    assert.deepEqual((await client(second).download(artifact_id)).bytes, bytes);
    assert.equal((await client(second).upload(randomBytes(10))).status, 200);
  });

  test('asks for a result that is used again only what it has to, and computes it where the object store is away', async (t) => {
    const { url, proxy } = await place();
    const { client } = await startTestServer(t, { objects: s3Location(url) });
    const hand = await Hand.register(client);
    const dir = await temporaryDirectory(t);
    const again = { pipeline: { kind: 'inline_json' as const, inline: {} }, reuse: true };
    await submit(client, again);
    const task = await hand.run();
    await hand.upload(task, dir, 'model', 'best_model.bin', 'a model');
    await hand.complete(task, { metrics: { best_rmse: 0.5 } });
    await proxy.stop();
    t.after(() => proxy.start().catch(() => {}));
    const { id } = await submit(client, again);
    await until('the task to be given', () =>
      hand.finish({ best_rmse: 0.4 }).then(
        () => true,
        () => false,
      ),
    );
    assert.equal((await client.call('getJob', { params: { id } })).status, 'succeeded');
  });

  test('does not start where its objects are not, with a sentence that says what to do', async (t) => {
    const { url } = await place();
    const { url: other } = await newPrefix();
    const [state, empty] = [await temporaryDirectory(t), await temporaryDirectory(t)];
    const first = await startTestServer(t, { state, objects: s3Location(url) });
    assert.equal((await client(first).upload(randomBytes(10))).status, 200);
    await first.stop();
    const folder = await temporaryDirectory(t);
    const inFolder = await startTestServer(t, { state: folder });
    await client(inFolder).upload(randomBytes(10));
    await inFolder.stop();
    for (const [flags, words] of [
      [['--state', state], /lie in s3:.*--objects.*copy-objects/],
      [['--state', state, '--objects', other], /no objects of this store/],
      [['--state', empty, '--objects', url], /belong to another store/],
      [['--state', folder, '--objects', other], /lie in .*jq-spec.*copy-objects/],
      [['--state', empty, '--objects', 'gs://b'], /s3:\/\/BUCKET/],
      [['--state', empty, '--objects', 's3://nowhere-at-all?path-style'], /NoSuchBucket/],
    ] as const) {
      const { code, stderr } = await server(...flags);
      assert.deepEqual([code, stderr.trim().split('\n').length], [2, 1], stderr);
      assert.match(stderr, words);
    }
    process.env.AWS_SECRET_ACCESS_KEY = 'wrong';
    const { code, stderr } = await server('--state', state, '--objects', url);
    Object.assign(process.env, CREDENTIALS);
    assert.deepEqual([code, /SignatureDoesNotMatch/.test(stderr)], [2, true], stderr);
    const last = await startTestServer(t, { state, objects: s3Location(url) });
    assert.equal((await client(last).upload(randomBytes(10))).status, 200, 'nothing of it was changed');
  });

  test('removes the bytes of what is deleted a day later, and what a crash between object and artifact left', async (t) => {
    const { url, keys } = await place();
    const cluster = await TestCluster.start(t);
    cluster.objects = s3Location(url);
    await cluster.restart();
    const worker = await cluster.register();
    const one = await done(cluster, worker);
    const two = await done(cluster, worker, {}, 'another model');
    assert.equal((await keys()).length, 4);
    const left = await cluster.port.blobs.place(Buffer.from('the server dies before it is recorded'));
    assert.equal((await keys()).length, 5);
    await cluster.port.send({ type: 'delete_job', principal: cluster.principal, job_id: one.id } as never);
    await cluster.settled();
    // As if it had died: the claim is gone with its process.
    await cluster.restart();
    cluster.clock.jump(Math.max(0, Date.now() / 1000 - cluster.clock.now()));
    await cluster.pass(0.5 * DAY);
    assert.ok((await keys()).includes(objectPath(one.sha256)), 'half a day later');
    await cluster.pass(2 * DAY);
    assert.ok(!(await keys()).includes(objectPath(left.sha256)));
    assert.deepEqual((await keys()).length, 2);
    assert.equal(await download(cluster, two.model), 'another model');
  });

  test('may have had them in its state directory before, and may have them there again: all arrive whole, also after a copy that broke off', async (t) => {
    const { url, keys, proxy } = await place();
    const state = await temporaryDirectory(t);
    const all = [randomBytes(1000), randomBytes(300_000), randomBytes(9_000_000), Buffer.alloc(0)];
    const first = await startTestServer(t, { state });
    const ids: string[] = [];
    for (const bytes of all) ids.push((await client(first).upload(bytes)).artifact_id);
    const copy = async (to: string, code = 0) => {
      const ended = await run(['copy-objects', '--state', state, '--to', to, '--json'], {
        program: 'jq-server',
      });
      assert.equal(ended.code, code, ended.stderr);
      return code === 0 ? JSON.parse(ended.stdout) : ended.stderr;
    };
    const whole = async (options: object) => {
      const it = await startTestServer(t, { state, ...options });
      for (const [i, id] of ids.entries()) assert.deepEqual((await client(it).download(id)).bytes, all[i]);
      assert.equal((await run(['check', '--state', state], { program: 'jq-server' })).code, 0);
      await it.stop();
    };
    let sent = 0;
    proxy.fault = (asked) =>
      asked.startsWith('PUT ') && ++sent > 2 ? { status: 403, code: 'AccessDenied' } : undefined;
    assert.match(await copy(url, 2), /AccessDenied/);
    proxy.fault = () => undefined;
    const beside = await copy(url);
    assert.deepEqual([beside.moved, beside.named], [false, 4]);
    assert.equal((await client(first).upload(Buffer.from('new'))).status, 200);
    await first.stop();
    const moved = await copy(url);
    assert.deepEqual(
      [moved.moved, moved.copied, moved.lost],
      [true, 1, []],
      'what is there is not copied again',
    );
    assert.equal((await keys()).length, 5);
    assert.equal((await server('--state', state)).code, 2);
    for (const path of readdirSync(join(state, 'objects')))
      rmSync(join(state, 'objects', path), { recursive: true });
    await whole({ objects: s3Location(url) });
    assert.deepEqual([(await copy('folder')).copied, (await keys()).length], [5, 5]);
    await whole({});
    assert.match(await copy('folder', 2), /already/);
    assert.deepEqual(
      [(await copy(url)).copied, (await keys()).length],
      [0, 5],
      'it is still the place of this store',
    );
  });

  test('is backed up without its objects, which are looked for; a restored store has them only with --take-objects', async (t) => {
    const { url, keys, bucket } = await place();
    const root = await temporaryDirectory(t);
    const [state, to, drill, next] = ['state', 'backups', 'drill', 'next'].map((name) =>
      join(root, name),
    ) as [string, string, string, string];
    const first = await startTestServer(t, { state, objects: s3Location(url) });
    const bytes = randomBytes(1000);
    const { artifact_id } = await client(first).upload(bytes);
    await client(first).upload(randomBytes(2000));
    const program = (...argv: string[]) => run(argv, { program: 'jq-server' });
    const made = await program('backup', '--state', state, '--to', to);
    assert.equal(made.code, 0, made.stderr);
    assert.match(made.stdout, /2 objects, 3.0 kB; they lie in s3:.* and are no part of it/);
    assert.deepEqual(
      readdirSync(to)
        .filter((name) => /^\d/.test(name))
        .flatMap((name) => readdirSync(join(to, name)))
        .sort(),
      ['backup.json', 'store.sqlite'],
    );
    assert.equal((await program('check', '--state', state)).code, 0);

    const drilled = await program('restore', '--from', to, '--state', drill);
    assert.equal(drilled.code, 0, drilled.stderr);
    const refused = await server('--state', drill, '--objects', url);
    assert.equal(refused.code, 2);
    assert.match(refused.stderr, /belong to another store.*--take-objects/);
    assert.deepEqual(
      (await client(first).download(artifact_id)).bytes,
      bytes,
      'nothing is taken from who has them',
    );

    await first.stop();
    assert.equal((await program('restore', '--from', to, '--state', next, '--take-objects')).code, 0);
    const second = await startTestServer(t, { state: next, objects: s3Location(url) });
    assert.deepEqual((await client(second).download(artifact_id)).bytes, bytes);
    assert.equal(
      (await server('--state', state, '--objects', url)).code,
      2,
      'the one before has them no more',
    );

    await bucket.remove((await keys())[0] as string);
    for (const argv of [
      ['check', '--state', next],
      ['backup', '--state', next, '--to', to],
    ]) {
      const { code, stdout } = await program(...argv);
      assert.deepEqual([code, /missing/.test(stdout)], [1, true], stdout);
    }
  });
});

describe(
  'the memory of a server whose objects lie in S3',
  requires('proc').skip ? requires('proc') : requiresS3(),
  () => {
    test('holds a few pieces of what goes up and down, however much that is', async (t) => {
      const { url, proxy } = await place();
      const state = await temporaryDirectory(t);
      const env = { ...CREDENTIALS, AWS_ENDPOINT_URL_S3: proxy.url };
      const program = new Program(
        process.execPath,
        [join(ROOT, 'bin/jq-server'), '--json', '--port', '0', '--state', state, '--objects', url],
        env,
      );
      t.after(() => program.kill());
      const it = client({ url: (await program.announced('listening')).url as string });
      const peak = () =>
        Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${program.pid}/status`, 'utf8'))?.[1]) / 1024;
      assert.doesNotMatch(program.stderr, /Warning/, 'its log is its own');
      const warm = await it.upload(randomBytes(1000));
      await it.download(warm.artifact_id);
      const before = peak();
      const bytes = randomBytes(256 * 1024 * 1024);
      const { artifact_id } = await it.upload(bytes);
      const went = peak() - before;
      const { bytes: came } = await it.download(artifact_id);
      assert.ok(came.equals(bytes));
      const all = peak() - before;
      t.diagnostic(`${Math.round(went)} MiB more after the upload, ${Math.round(all)} after the download`);
      assert.ok(all < 64, `${all} MiB more`);
    });
  },
);
