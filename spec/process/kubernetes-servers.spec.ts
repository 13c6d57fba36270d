import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { newPrefix, service } from '../objects/places.ts';
import { CREDENTIALS, requiresS3, startMoto } from '../objects/services.ts';
import { emptyDatabase } from '../store/drivers.ts';
import { clientOf } from '../support/client.ts';
import { quietPort } from '../support/program.ts';
import { requires } from '../support/requires.ts';
import { temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { find, Machine, podOf, type Running } from './pods.ts';

const moto = service(startMoto);
const RUNNER = `while [ $# -gt 1 ]; do case $1 in --output-dir) out=$2 ;; --result-file) result=$2 ;; esac; shift 2; done
touch "$FOLDER/running"
while [ ! -e "$FOLDER/go" ]; do sleep 0.05; done
echo made >"$out/best_model.bin"
echo '{"status":"succeeded","metrics":{"best_rmse":1}}' >"$result"
`;

/** The database as the secret names it. */
function variablesOf(address: string): Record<string, string> {
  const { hostname, port, username, password, pathname } = new URL(address);
  const named = { PGHOST: hostname, PGPORT: port, PGUSER: username, PGDATABASE: pathname.slice(1) };
  return { ...named, PGPASSWORD: decodeURIComponent(password) };
}

test(
  'three servers that start as the manifests of Kubernetes say find each other by the addresses of their pods, and who knows their Service alone goes on when the one that leads is replaced',
  requires('postgresql').skip ? requires('postgresql') : requiresS3(),
  async (t) => {
    const folder = await temporaryDirectory(t);
    await mkdir(join(folder, 'secret'));
    await writeFile(join(folder, 'secret/token'), 's3cret', { mode: 0o400 });
    const port = await quietPort();
    const { url: endpoint } = await moto();
    const { url: objects } = await newPrefix();
    const secret = { ...variablesOf(await emptyDatabase()), ...CREDENTIALS, AWS_ENDPOINT_URL_S3: endpoint };
    const instead = { 's3://lab-jq/production?path-style': objects, 'jq-server:8765': '' };
    const machine = new Machine(t, { folder, port, secrets: { 'jq-store': secret }, instead });
    const server = podOf('servers.yaml', 'Deployment');
    let pods: Running[] = [];
    const serve = (n: number) => machine.start(server, { ip: `127.0.0.${n}` });
    for (let n = 1; n <= find('servers.yaml', 'Deployment').spec.replicas; n++) pods.push(serve(n));
    // Here a server listens to its pod's address alone, which it would name by itself.
    for (const { program, url } of pods) assert.ok(program.child.spawnargs.includes(`--advertise=${url}`));
    await Promise.all(pods.map((pod) => pod.stands()));
    const address = `127.0.0.1:${await machine.service(() => pods)}`;
    instead['jq-server:8765'] = address;

    const client = clientOf(t, `http://${address}`, { token: 's3cret' });
    const leader = async () => {
      const { servers } = await client.call('listServers');
      assert.deepEqual(servers.map(({ address }) => address).sort(), pods.map(({ url }) => url).sort());
      const leading = servers.filter(({ status }) => status === 'leading');
      assert.equal(leading.length, 1);
      return leading[0]?.address;
    };
    const first = await until('all of them to be there', () => leader().catch(() => null), 60);

    const runner = join(folder, 'runner.sh');
    await writeFile(runner, RUNNER);
    const work = podOf('workers.yaml', 'Deployment');
    const worker = machine.start(work, { further: [`--runner=slow=sh ${runner}`] });
    const body = { type: 'slow.run', pipeline: { kind: 'inline_json', inline: {} } };
    const dataset = { kind: 'shared_path', path: folder };
    const { id } = await client.call('submitJob', { body: { ...body, dataset } as never });
    const job = () => client.call('getJob', { params: { id } });
    await until('the task to run', async () => (await job()).aggregate.num_running === 1, 60);

    const [leads] = pods.filter(({ url }) => url === first);
    const next = serve(pods.length + 1);
    await next.stands();
    pods = [...pods.filter((pod) => pod !== leads), next];
    assert.deepEqual(await leads?.end(), { code: 0, signal: null });
    assert.notEqual(await until('another one to lead', () => leader().catch(() => null), 60), first);
    await writeFile(join(folder, 'go'), '');
    await until('the job', async () => (await job()).status === 'succeeded', 60);
    const [task] = await client.call('listJobTasks', { params: { id } });
    assert.equal(task?.attempt, 1);
    const artifacts = await client.call('listJobArtifacts', { params: { id } });
    assert.ok(artifacts.some(({ filename }) => filename === 'best_model.bin'));
    assert.equal((await worker.end()).code, 0);
  },
);
