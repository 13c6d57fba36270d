// The manifests of Kubernetes, and a machine that starts their programs as it would.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { parseAllDocuments } from 'yaml';
import { Program, ROOT } from '../support/program.ts';
import { until } from '../support/until.ts';

const FOLDER = join(ROOT, 'examples/operations/kubernetes');
/** Of servers, as the manifests say it. */
const PORT = 8765;

interface Probe {
  httpGet: { path: string; port: string };
}
interface Container {
  command: string[];
  args: string[];
  env?: { name: string; value?: string; valueFrom?: Record<string, Record<string, string>> }[];
  envFrom?: { secretRef: { name: string } }[];
  ports?: { name: string; containerPort: number }[];
  resources: { limits: { memory: string } };
  startupProbe?: Probe;
  livenessProbe?: Probe;
  readinessProbe?: Probe;
  lifecycle?: { preStop: { exec: { command: string[] } } };
}
export interface Pod {
  terminationGracePeriodSeconds: number;
  containers: [Container];
}
export interface Resource {
  apiVersion: string;
  kind: string;
  metadata: { name: string };
  // biome-ignore lint/suspicious/noExplicitAny: each kind has another
  spec: any;
}

/** What is in the manifests, by file. */
export const MANIFESTS: ReadonlyMap<string, Resource[]> = new Map(
  readdirSync(FOLDER).map((name) => [
    name,
    parseAllDocuments(readFileSync(join(FOLDER, name), 'utf8')).map((document) => document.toJS()),
  ]),
);

export function find(file: string, kind: string): Resource {
  const found = MANIFESTS.get(file)?.find((resource) => resource.kind === kind);
  return found ?? assert.fail(`no ${kind} in ${file}`);
}

export const podOf = (file: string, kind: string): Pod => find(file, kind).spec.template.spec;

/** What the machine of pods provides: volumes, secrets, names that are resolved. */
export interface Surroundings {
  folder: string;
  /** Where the programs listen instead of at 8765. */
  port: number;
  /** By name, what is in them, beside the token, which is a file. */
  secrets?: Record<string, Record<string, string>>;
  /** Further words of arguments, and what stands in their place. */
  instead?: Record<string, string>;
}

/** A pod that runs. */
export class Running {
  readonly name: string;
  readonly ip: string;
  readonly program: Program;
  readonly #pod: Pod;
  readonly #port: number;
  /** Whether it has been told to end: no Service sends there any more. */
  #isEnding = false;

  constructor(pod: Pod, name: string, ip: string, port: number, program: Program) {
    this.name = name;
    this.ip = ip;
    this.program = program;
    this.#pod = pod;
    this.#port = port;
  }

  get url(): string {
    return `http://${this.ip}:${this.#port}`;
  }

  /** Whether a Service sends to it. */
  async isReady(): Promise<boolean> {
    return !this.#isEnding && this.#answers(this.#pod.containers[0].readinessProbe as Probe);
  }

  /** All of its probes succeed. */
  async stands(): Promise<void> {
    const { startupProbe, livenessProbe, readinessProbe } = this.#pod.containers[0];
    for (const probe of [startupProbe, livenessProbe, readinessProbe])
      await until(`a probe of ${this.name}`, () => this.#answers(probe as Probe), 60);
  }

  /** As Kubernetes ends a pod: the hook, SIGTERM, and SIGKILL when its time is over. */
  async end() {
    this.#isEnding = true;
    const [program, ...args] = this.#pod.containers[0].lifecycle?.preStop.exec.command ?? ['true'];
    await new Program(program as string, args).ended;
    return this.program.terminate(this.#pod.terminationGracePeriodSeconds);
  }

  async #answers({ httpGet: { path, port } }: Probe): Promise<boolean> {
    const named = this.#pod.containers[0].ports?.find(({ name }) => name === port);
    assert.equal(named?.containerPort, PORT);
    return fetch(`${this.url}${path}`).then(
      ({ status }) => status === 200,
      () => false,
    );
  }
}

/** A machine on which pods run. */
export class Machine {
  readonly #t: TestContext;
  readonly #around: Surroundings;
  #pods = 0;

  constructor(t: TestContext, around: Surroundings) {
    this.#t = t;
    this.#around = around;
  }

  /**
   * Starts the program of a pod as its manifest says.
   * @param volume a name for what stays, else it ends with the pod
   * @param ip of the pod; only Linux has more of them than 127.0.0.1
   */
  start(
    pod: Pod,
    { volume, ip = '127.0.0.1', further = [] }: { volume?: string; ip?: string; further?: string[] } = {},
  ): Running {
    const [container] = pod.containers;
    const { folder, port, instead = {} } = this.#around;
    const name = `pod-${this.#pods++}`;
    const values = this.#environment(container, { 'metadata.name': name, 'status.podIP': ip });
    const here = {
      '/var/lib/jq-cluster': join(folder, volume ?? name),
      '/run/secrets/jq': join(folder, 'secret'),
      '0.0.0.0': ip,
      ...instead,
      [`:${PORT}`]: `:${port}`,
      [`--port=${PORT}`]: `--port=${port}`,
    };
    const place = (arg: string) => {
      const valued = arg.replace(
        /\$\((\w+)\)/g,
        (_, key) => values[key] ?? assert.fail(`no value of ${key}`),
      );
      return Object.entries(here).reduce((text, [there, own]) => text.replace(there, own), valued);
    };
    const [command, ...words] = container.command;
    const args = [...words, ...container.args, ...further].map(place);
    const program = new Program(join(ROOT, 'bin', command as string), args, { ...values, FOLDER: folder });
    this.#t.after(() => program.kill());
    return new Running(pod, name, ip, port, program);
  }

  /** A Service: each connection goes to the next of the pods that are ready. @returns its port */
  async service(pods: () => readonly Running[]): Promise<number> {
    const sockets = new Set<Socket>();
    let turn = 0;
    const server = createServer(async (from) => {
      const ready: Running[] = [];
      from.on('error', () => {});
      for (const pod of pods()) if (await pod.isReady()) ready.push(pod);
      const chosen = ready[turn++ % ready.length];
      if (chosen === undefined) return void from.destroy();
      const to = connect(this.#around.port, chosen.ip);
      for (const [one, other] of [[from, to] as const, [to, from] as const]) {
        sockets.add(one);
        one.on('error', () => {}).once('close', () => other.destroy());
        one.pipe(other);
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.#t.after(() => {
      for (const socket of sockets) socket.destroy();
      server.close();
    });
    return (server.address() as { port: number }).port;
  }

  #environment({ env = [], envFrom = [], resources }: Container, fields: Record<string, string>) {
    const values: Record<string, string> = {};
    for (const { secretRef } of envFrom)
      Object.assign(values, this.#around.secrets?.[secretRef.name] ?? assert.fail(`no ${secretRef.name}`));
    for (const { name, value, valueFrom } of env) {
      const { fieldRef, resourceFieldRef } = valueFrom ?? {};
      const isMemory = resourceFieldRef?.resource === 'limits.memory' && resourceFieldRef.divisor === '1Gi';
      values[name] =
        value ??
        fields[fieldRef?.fieldPath ?? ''] ??
        (isMemory
          ? `${Number.parseInt(resources.limits.memory, 10)}`
          : assert.fail(`where ${name} comes from`));
    }
    return values;
  }
}
