// Rows in PostgreSQL and objects in S3: servers that have nothing of their own, as real processes.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { type TestContext, test } from 'node:test';
import { s3Location } from '../../actors/server/blobs/s3/location.ts';
import { ClusterClient } from '../../gateway/client/client.ts';
import { startWorkerProgram } from '../crash/worker-program.ts';
import { emptyDatabase } from '../store/drivers.ts';
import { clientOf } from '../support/client.ts';
import { Program, quietPort, ROOT } from '../support/program.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { newPrefix, service } from './places.ts';
import { CREDENTIALS, requiresS3, startSwift } from './services.ts';

const swift = service(startSwift);

/** Makes a model of 2 MB, no two of them the same, and a file that is the same of all. */
const RUNNER = `#!/bin/sh
while [ $# -gt 1 ]; do case $1 in --output-dir) out=$2 ;; --result-file) result=$2 ;; esac; shift 2; done
head -c 2000000 /dev/urandom >"$out/best_model.bin"
head -c 1500000 /dev/zero >"$out/same.bin"
echo '{"status": "succeeded", "metrics": {"best_rmse": 0.5}}' >"$result"
`;

interface Member {
  url: string;
  state: string;
  program: Program;
}

async function servers(t: TestContext, count: number) {
  const root = await temporaryDirectory(t);
  const proxy = await swift();
  const { url: objects, bucket } = await newPrefix();
  const store = await emptyDatabase();
  const env = { ...CREDENTIALS, AWS_ENDPOINT_URL_S3: proxy.url };
  const start = (state: string, port: number) => {
    const flags = '--json --log-level error --presign --lease-ttl 4 --heartbeat-interval 1'.split(' ');
    const place = ['--state', state, '--port', `${port}`, '--store', store, '--objects', objects];
    const program = new Program(process.execPath, [`${ROOT}bin/jq-server`, ...flags, ...place], env);
    t.after(() => program.kill());
    return program;
  };
  const members: Member[] = [];
  for (let n = 0; n < count; n++) {
    const [state, port] = [join(root, `server-${n}`), await quietPort()];
    await mkdir(state);
    const member = { url: `http://127.0.0.1:${port}`, state, program: start(state, port) };
    await member.program.announced('listening');
    members.push(member);
  }
  const again = async (member: Member) => {
    member.program = start(member.state, Number(new URL(member.url).port));
    await member.program.announced('listening');
  };
  return { root, members: members as [Member, Member], again, proxy, bucket };
}

const isReady = ({ url }: Member) =>
  fetch(`${url}/readyz`).then(
    async (answer) => answer.ok && ((await answer.json()) as { leads: boolean }).leads,
    () => false,
  );

test(
  'a sweep is finished by the server that takes over, which gives every artifact, and by the one that takes over from it',
  requires('postgresql').skip ? requires('postgresql') : requiresS3(),
  async (t) => {
    const { root, members, again, proxy, bucket } = await servers(t, 2);
    const [first, second] = members;
    const runner = join(root, 'runner.sh');
    await writeFile(runner, RUNNER, { mode: 0o755 });
    const everywhere = `${first.url},${second.url}`;
    const worker = startWorkerProgram(everywhere, join(root, 'worker'), runner);
    t.after(() => worker.kill());
    const client = clientOf(t, everywhere);
    const sweep = async (name: string) => {
      const pipelines = [1, 2, 3, 4, 5, 6].map((i) => ({ kind: 'inline_json' as const, inline: { i } }));
      const dataset = { kind: 'worker_local' as const, path: root };
      return client.call('submitJob', { body: { type: 'tick.run', name, pipelines, dataset } });
    };
    const jobOf = (id: string) => client.call('getJob', { params: { id } });
    const has = (id: string, succeeded: number) => () =>
      jobOf(id).then(
        ({ aggregate }) => aggregate.num_succeeded >= succeeded,
        () => false,
      );
    /** Every artifact that a server lists, from it alone, against the SHA-256 that it says. */
    const given = async (server: Member, id: string) => {
      const one = new ClusterClient({ server: server.url });
      const listed = await one.call('listJobArtifacts', { params: { id } });
      for (const { id: artifact, sha256 } of listed) {
        const bytes = await buffer((await one.download(artifact)).body);
        assert.equal(createHash('sha256').update(bytes).digest('hex'), sha256);
      }
      await one.close();
      return listed
        .filter(({ role }) => role !== 'best_model')
        .map(({ filename, sha256 }) => ({ filename, sha256 }));
    };

    const { id } = await sweep('one');
    await until('a task to succeed', has(id, 1));
    await first.program.kill();
    await until('the other one to lead', () => isReady(second));
    await until('the sweep to end', has(id, 6));
    const artifacts = await given(second, id);
    const models = new Set(
      artifacts.filter(({ filename }) => filename === 'best_model.bin').map((a) => a.sha256),
    );
    assert.equal(models.size, 6);
    assert.equal(
      new Set(artifacts.filter(({ filename }) => filename === 'same.bin').map((a) => a.sha256)).size,
      1,
    );
    const direct = proxy.seen.filter(
      (asked) => asked.startsWith('PUT ') && asked.includes('X-Amz-Signature='),
    );
    assert.ok([...models].some((sha256) => direct.some((asked) => asked.includes(`/${sha256}?`))));

    await again(first);
    assert.equal(await isReady(first), false, 'it stands by');
    assert.deepEqual(await second.program.terminate(), { code: 0, signal: null });
    await until('the one that came back to lead', () => isReady(first));
    assert.deepEqual(await given(first, id), artifacts);
    const { id: next } = await sweep('two');
    await until('the next sweep to end', has(next, 6));
    await given(first, next);

    const named = new Set([...artifacts, ...(await given(first, next))].map(({ sha256 }) => sha256));
    const keys: string[] = [];
    for await (const page of bucket.list('objects/')) keys.push(...page.map(({ key }) => key));
    for (const sha256 of named) assert.ok(keys.some((key) => key.endsWith(sha256)));
    for (const { state } of members) {
      assert.equal(existsSync(join(state, 'objects')), false, 'nothing lies on a machine');
      assert.deepEqual(await readdir(join(state, 'uploads')), []);
    }
    assert.deepEqual(await worker.terminate(), { code: 0, signal: null });
  },
);

test(
  'a server stands by only where it was told of the place at which the one that leads has its objects',
  requires('postgresql').skip ? requires('postgresql') : requiresS3(),
  async (t) => {
    await swift();
    const store = await emptyDatabase();
    const objects = s3Location((await newPrefix()).url);
    await startTestServer(t, { store, objects });
    const other = s3Location((await newPrefix()).url);
    await assert.rejects(startTestServer(t, { store, objects: other }), {
      code: 'objects_refused',
      message: `the objects of this store lie in ${objects.url}: name it with --objects`,
    });
    assert.equal((await startTestServer(t, { store, objects })).state, 'standing_by');
  },
);
