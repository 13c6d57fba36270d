import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { clientOf } from '../support/client.ts';
import { quietPort, ROOT } from '../support/program.ts';
import { temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { find, MANIFESTS, Machine, podOf, type Resource } from './pods.ts';

const run = promisify(execFile);
const all = [...MANIFESTS.values()].flat().map(asPublished);

/**
 * A resource as the schemas know it that this version of Node.js has as packages: that of KEDA is older than the formula, which
 * the schema of KEDA 2.12 and all later ones has.
 */
function asPublished(resource: Resource): Resource {
  if (resource.kind !== 'ScaledObject') return resource;
  const { scalingModifiers, ...advanced } = resource.spec.advanced;
  assert.deepEqual(Object.keys(scalingModifiers), ['formula', 'target']);
  return { ...resource, spec: { ...resource.spec, advanced } };
}

/** Where the published schema of a kind lies, as a module. */
const schemaOf = ({ apiVersion, kind }: Resource): string =>
  apiVersion.startsWith('keda.sh/')
    ? `@kubernetes-models/keda/${apiVersion}/${kind}`
    : `kubernetes-models/${apiVersion}/${kind}`;

/** A program of types that has these resources written out: what has a wrong type, or no schema knows, is an error. */
async function typeErrors(t: TestContext, resources: readonly Resource[]): Promise<string> {
  const lines = resources.map((resource, i) => {
    const from = join(ROOT, 'node_modules', schemaOf(resource));
    return `import type { I${resource.kind} as T${i} } from '${from}';\nexport const r${i}: T${i} = ${JSON.stringify(resource)};`;
  });
  const file = join(await temporaryDirectory(t), 'resources.ts');
  await writeFile(file, lines.join('\n'));
  const flags = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'esnext', '--module', 'esnext'];
  const tsc = [...flags, '--moduleResolution', 'bundler', '--ignoreConfig', '--types', '', file];
  return run(join(ROOT, 'node_modules/.bin/tsc'), tsc).then(
    () => '',
    (error: { stdout: string }) => error.stdout,
  );
}

describe('the manifests of Kubernetes', () => {
  it('are what the published schemas of Kubernetes and KEDA allow', async () => {
    assert.deepEqual(
      new Map([...MANIFESTS].map(([file, resources]) => [file, resources.map(({ kind }) => kind)])),
      new Map([
        ['keda.yaml', ['TriggerAuthentication', 'ScaledObject']],
        ['server.yaml', ['Service', 'StatefulSet']],
        ['servers.yaml', ['Service', 'PodDisruptionBudget', 'Deployment']],
        ['workers.yaml', ['Deployment']],
      ]),
    );
    for (const resource of all) {
      const { [resource.kind]: Model } = await import(schemaOf(resource));
      new Model(resource).validate();
      const { spec: _, ...without } = resource;
      if (resource.kind === 'ScaledObject') assert.throws(() => new Model(without).validate());
    }
  });

  it('hold nothing that these schemas do not know', async (t) => {
    assert.equal(await typeErrors(t, all), '');
    const broken = structuredClone(find('server.yaml', 'StatefulSet'));
    broken.spec.template.spec.terminationGracePeriodsSeconds = 1;
    assert.match(await typeErrors(t, [broken]), /terminationGracePeriodsSeconds/);
  });

  it('leave workers the time that they need to give back what they run', () => {
    const { terminationGracePeriodSeconds, containers } = podOf('workers.yaml', 'Deployment');
    const grace = Number(containers[0].args.find((arg) => arg.startsWith('--grace='))?.slice(8));
    assert.ok(
      terminationGracePeriodSeconds >= grace + 20,
      `${terminationGracePeriodSeconds} s for ${grace} s`,
    );
  });
});

const RUNNER = `while [ $# -gt 0 ]; do [ "$1" = --result-file ] && result=$2; shift; done
touch "$FOLDER/running-$$"
while [ ! -e "$FOLDER/go" ]; do sleep 0.05; done
echo '{"status":"succeeded","metrics":{"best_rmse":1}}' > "$result"
`;

it('programs that start as the manifests of Kubernetes say answer their probes, end within their grace, and nothing is lost', async (t) => {
  const folder = await temporaryDirectory(t);
  await mkdir(join(folder, 'secret'));
  await writeFile(join(folder, 'secret/token'), 's3cret', { mode: 0o400 });
  const port = await quietPort();
  const address = `127.0.0.1:${port}`;
  const machine = new Machine(t, { folder, port, instead: { 'jq-server:8765': address } });
  const [server, worker] = [podOf('server.yaml', 'StatefulSet'), podOf('workers.yaml', 'Deployment')];
  const client = clientOf(t, `http://${address}`, { token: 's3cret' });
  const serve = async () => {
    const started = machine.start(server, { volume: 'volume' });
    await started.stands();
    return started;
  };
  const runner = join(folder, 'runner.sh');
  await writeFile(runner, RUNNER);
  const work = (...further: string[]) =>
    machine.start(worker, { further: [`--runner=slow=sh ${runner}`, ...further] });
  const running = async (count: number) =>
    until(
      `${count} tasks`,
      async () => (await readdir(folder)).filter((f) => f.startsWith('running')).length === count,
      60,
    );
  /** What the scaler is told: by its name, each of what its formula adds. */
  const metrics = async () => {
    const { triggers, advanced } = find('keda.yaml', 'ScaledObject').spec;
    const found: Record<string, number | undefined> = {};
    for (const { name, metadata } of triggers) {
      // It asks from a namespace of its own.
      const url = metadata.url.replace('jq-server.default.svc:8765', address);
      const answer = await fetch(url, { headers: { authorization: 'Bearer s3cret' } });
      found[name] = ((await answer.json()) as Record<string, number>)[metadata.valueLocation];
    }
    assert.equal(advanced.scalingModifiers.formula, Object.keys(found).join(' + '));
    return found;
  };

  const first = await serve();
  const inline = [1, 2, 3].map((step) => ({ kind: 'inline_json', inline: { step } }));
  const body = { type: 'slow.run', pipelines: inline, dataset: { kind: 'shared_path', path: folder } };
  const { id } = await client.call('submitJob', { body: { ...body, retry: { max_attempts: 1 } } as never });
  assert.deepEqual(await metrics(), { wanted: 3, used: 0 });
  const one = work();
  await running(2);
  assert.deepEqual(await metrics(), { wanted: 1, used: 2 });

  assert.deepEqual(await first.end(), { code: 0, signal: null });
  const second = await serve();
  const ending = one.end();
  await until('the word of it', () => one.program.stderr.includes('it takes no more tasks'), 60);
  await writeFile(join(folder, 'go'), '');
  assert.deepEqual(await ending, { code: 0, signal: null });

  await rm(join(folder, 'go'));
  const other = work('--grace=0.5');
  await running(3);
  assert.deepEqual(await other.end(), { code: 0, signal: null });
  await writeFile(join(folder, 'go'), '');
  const last = work();
  const job = () => client.call('getJob', { params: { id } });
  await until('the job', async () => (await job()).status === 'succeeded', 60);
  const tasks = await client.call('listJobTasks', { params: { id } });
  assert.deepEqual(
    tasks.map(({ status }) => status),
    ['succeeded', 'succeeded', 'succeeded'],
  );
  const events = await client.call('listJobEvents', { params: { id } });
  assert.ok(!events.some(({ type }) => type === 'task_failed' || type === 'task_lost'));
  const view = (await client.call('listWorkers')).find(({ name }) => name === last.name);
  assert.equal(view?.capabilities.memory_gb, 4);
  for (const pod of [last, second]) assert.equal((await pod.end()).code, 0);
});
