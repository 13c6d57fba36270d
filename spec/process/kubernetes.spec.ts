import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { clientOf } from '../support/client.ts';
import { Program, quietPort, ROOT } from '../support/program.ts';
import { temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);
const FOLDER = join(ROOT, 'examples/operations/kubernetes');

interface Probe {
  httpGet: { path: string; port: string };
  timeoutSeconds?: number;
}
interface Container {
  command: string[];
  args: string[];
  env?: { name: string; valueFrom: Record<string, Record<string, string>> }[];
  ports?: { name: string; containerPort: number }[];
  resources: { limits: { memory: string } };
  startupProbe?: Probe;
  livenessProbe?: Probe;
  readinessProbe?: Probe;
}
interface Pod {
  terminationGracePeriodSeconds: number;
  containers: [Container];
}
interface Resource {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  // biome-ignore lint/suspicious/noExplicitAny: each kind has another
  spec: any;
}

const files = readdirSync(FOLDER).filter((name) => name.endsWith('.yaml'));
const resourcesOf = (text: string): Resource[] => parseAllDocuments(text).map((document) => document.toJS());
const all = files.flatMap((name) => resourcesOf(readFileSync(join(FOLDER, name), 'utf8')));
const find = (kind: string): Resource => all.find((resource) => resource.kind === kind) as Resource;
const podOf = (kind: string): Pod => find(kind).spec.template.spec;

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
    const kinds = all.map(({ kind }) => kind).sort();
    assert.deepEqual(kinds, 'Deployment ScaledObject Service StatefulSet TriggerAuthentication'.split(' '));
    for (const resource of all) {
      const { [resource.kind]: Model } = await import(schemaOf(resource));
      new Model(resource).validate();
      const { spec: _, ...without } = resource;
      if (resource.kind === 'ScaledObject') assert.throws(() => new Model(without).validate());
    }
  });

  it('hold nothing that these schemas do not know', async (t) => {
    assert.equal(await typeErrors(t, all), '');
    const broken = structuredClone(find('StatefulSet'));
    broken.spec.template.spec.terminationGracePeriodsSeconds = 1;
    assert.match(await typeErrors(t, [broken]), /terminationGracePeriodsSeconds/);
  });

  it('leave workers the time that they need to give back what they run', () => {
    const { terminationGracePeriodSeconds, containers } = podOf('Deployment');
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

/** What the machine of a pod provides: volumes, the secret, names that are resolved, and where the service is. */
class Node {
  readonly #t: TestContext;
  readonly folder: string;
  readonly port: number;
  #pods = 0;

  constructor(t: TestContext, folder: string, port: number) {
    this.#t = t;
    this.folder = folder;
    this.port = port;
  }

  /** Starts the program of a pod as its manifest says. @param volume a name for what stays, else it ends with the pod */
  start({ containers: [container] }: Pod, volume = `empty-${this.#pods}`, further: string[] = []): Program {
    const name = `pod-${this.#pods++}`;
    const values: Record<string, string> = {};
    for (const { name: variable, valueFrom } of container.env ?? []) {
      const { fieldRef, resourceFieldRef } = valueFrom;
      if (fieldRef?.fieldPath === 'metadata.name') values[variable] = name;
      if (resourceFieldRef?.resource === 'limits.memory')
        values[variable] = `${Number.parseInt(container.resources.limits.memory, 10)}`;
    }
    const here = (arg: string) =>
      arg
        .replace(/\$\((\w+)\)/g, (_, variable) => values[variable] ?? assert.fail(`no value of ${variable}`))
        .replace('/var/lib/jq-cluster', join(this.folder, volume))
        .replace('/run/secrets/jq', join(this.folder, 'secret'))
        .replace('0.0.0.0', '127.0.0.1')
        .replace('jq-server:8765', `127.0.0.1:${this.port}`)
        .replace(/^8765$/, `${this.port}`);
    const [program, ...words] = container.command;
    const args = [...words, ...container.args, ...further].map(here);
    const started = new Program(join(ROOT, 'bin', program as string), args, {
      ...values,
      FOLDER: this.folder,
    });
    this.#t.after(() => started.kill());
    return started;
  }

  /** A probe of the server's pod. */
  async answers({ httpGet: { path, port } }: Probe, { ports = [] }: Container): Promise<boolean> {
    assert.equal(ports.find(({ name }) => name === port)?.containerPort, 8765);
    return fetch(`http://127.0.0.1:${this.port}${path}`).then(
      ({ status }) => status === 200,
      () => false,
    );
  }
}

it('programs that start as the manifests of Kubernetes say answer their probes, end within their grace, and nothing is lost', async (t) => {
  const folder = await temporaryDirectory(t);
  await mkdir(join(folder, 'secret'));
  await writeFile(join(folder, 'secret/token'), 's3cret', { mode: 0o400 });
  const node = new Node(t, folder, await quietPort());
  const [server, worker] = [podOf('StatefulSet'), podOf('Deployment')];
  const [container] = server.containers;
  const client = clientOf(t, `http://127.0.0.1:${node.port}`, { token: 's3cret' });
  const serve = async () => {
    const started = node.start(server, 'volume');
    for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe])
      await until('a probe', () => node.answers(probe as Probe, container), 60);
    return started;
  };
  const runner = join(folder, 'runner.sh');
  await writeFile(runner, RUNNER);
  const work = (...further: string[]) =>
    node.start(worker, undefined, [`--runner=slow=sh ${runner}`, ...further]);
  const running = async (count: number) =>
    until(
      `${count} tasks`,
      async () => (await readdir(folder)).filter((f) => f.startsWith('running')).length === count,
      60,
    );
  /** What the two triggers of the scaler are told. */
  const triggers = () =>
    Promise.all(
      find('ScaledObject').spec.triggers.map(async ({ metadata }: { metadata: Record<string, string> }) => {
        const url = (metadata.url ?? '').replace('jq-server:8765', `127.0.0.1:${node.port}`);
        const answer = await fetch(url, { headers: { authorization: 'Bearer s3cret' } });
        return ((await answer.json()) as Record<string, number>)[metadata.valueLocation as string];
      }),
    );

  const first = await serve();
  const inline = [1, 2, 3].map((step) => ({ kind: 'inline_json', inline: { step } }));
  const body = { type: 'slow.run', pipelines: inline, dataset: { kind: 'shared_path', path: folder } };
  const { id } = await client.call('submitJob', { body: { ...body, retry: { max_attempts: 1 } } as never });
  assert.deepEqual(await triggers(), [3, 0]);
  const one = work();
  await running(2);
  assert.deepEqual(await triggers(), [1, 2]);

  assert.deepEqual(await first.terminate(server.terminationGracePeriodSeconds), { code: 0, signal: null });
  const second = await serve();
  const ending = one.terminate(worker.terminationGracePeriodSeconds);
  await until('the word of it', () => one.stderr.includes('it takes no more tasks'), 60);
  await writeFile(join(folder, 'go'), '');
  assert.deepEqual(await ending, { code: 0, signal: null });

  await rm(join(folder, 'go'));
  const other = work('--grace=0.5');
  await running(3);
  assert.deepEqual(await other.terminate(worker.terminationGracePeriodSeconds), { code: 0, signal: null });
  await writeFile(join(folder, 'go'), '');
  const last = work();
  await until(
    'the job',
    async () => (await client.call('getJob', { params: { id } })).status === 'succeeded',
    60,
  );
  const tasks = await client.call('listJobTasks', { params: { id } });
  assert.deepEqual(
    tasks.map(({ status }) => status),
    ['succeeded', 'succeeded', 'succeeded'],
  );
  const events = await client.call('listJobEvents', { params: { id } });
  assert.ok(!events.some(({ type }) => type === 'task_failed' || type === 'task_lost'));
  const view = (await client.call('listWorkers')).find(({ name }) => name === 'pod-4');
  assert.equal(view?.capabilities.memory_gb, 4);
  for (const program of [last, second]) assert.equal((await program.terminate()).code, 0);
});
