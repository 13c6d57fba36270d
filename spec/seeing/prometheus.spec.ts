import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { parse } from 'yaml';
import { start } from '../cli/cli-support.ts';
import { serverMetrics, workerProgramMetrics } from '../design/documents/metrics.ts';
import { bearer } from '../gateway/support.ts';
import { quietPort, ROOT } from '../support/program.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';

const OPERATIONS = join(ROOT, 'examples/operations');

interface Rule {
  alert: string;
  expr: string;
}

const rules = (): Rule[] =>
  (
    parse(readFileSync(join(OPERATIONS, 'alerts.yml'), 'utf8')) as { groups: { rules: Rule[] }[] }
  ).groups.flatMap((group) => group.rules);

/** The questions of the dashboard, as Grafana asks them. */
const questions = (): string[] =>
  (
    JSON.parse(readFileSync(join(OPERATIONS, 'dashboard.json'), 'utf8')) as {
      panels: { targets: { expr: string }[] }[];
    }
  ).panels.flatMap(({ targets }) =>
    targets.map(({ expr }) => expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*')),
  );

function promtool(argv: string[], input = ''): Promise<{ code: number; text: string }> {
  return new Promise((resolve) => {
    const child = execFile('promtool', argv, { cwd: OPERATIONS }, (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, text: stdout + stderr }),
    );
    child.stdin?.end(input);
  });
}

async function assertPromtool(argv: string[], input?: string): Promise<void> {
  const { code, text } = await promtool(argv, input);
  assert.equal(code, 0, text);
}

describe('the alerts and the dashboard', () => {
  it('name only metrics that exist', () => {
    const known = new Set(['up']);
    for (const { name, type } of [...serverMetrics(), ...workerProgramMetrics()]) {
      if (type === 'histogram') for (const part of ['bucket', 'sum', 'count']) known.add(`${name}_${part}`);
      else known.add(name);
    }
    const asked = [...rules().map(({ expr }) => expr), ...questions()];
    assert.ok(asked.length > 40);
    const named = asked.flatMap((expr) => expr.match(/\b(jq|process|nodejs)_\w+/g) ?? []);
    assert.deepEqual(
      [...new Set(named)].filter((name) => !known.has(name)),
      [],
    );
  });

  it(
    'have rules that promtool accepts, each of which fires where its test says so, and only there',
    requires('promtool'),
    async () => {
      await assertPromtool(['check', 'rules', 'alerts.yml']);
      await assertPromtool(['test', 'rules', 'alerts.test.yml']);
      const { tests } = parse(await readFile(join(OPERATIONS, 'alerts.test.yml'), 'utf8')) as {
        tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[];
      };
      const cases = tests.flatMap((test) => test.alert_rule_test);
      for (const { alert } of rules()) {
        const of = cases
          .filter(({ alertname }) => alertname === alert)
          .map(({ exp_alerts }) => exp_alerts.length);
        assert.deepEqual(of, [0, 1], alert);
      }
    },
  );
});

/** A server and a worker that have done a job, and where each tells its metrics. */
async function cluster(t: TestContext) {
  const principals = ['admin:token-of-admin:admin', 'viewer:token-of-viewer:viewer'];
  const server = await startTestServer(t, { principals });
  const state = await temporaryDirectory(t);
  const worker = start('jq-worker', [
    ...['--server', server.url, '--state', join(state, 'worker'), '--metrics-port', '0'],
    ...['--log-file', join(state, 'worker.log'), '--token', 'token-of-admin'],
  ]);
  t.after(() => worker.child.kill('SIGKILL'));
  const workerMetrics = await until('the worker serves its metrics', async () => {
    const log = await readFile(join(state, 'worker.log'), 'utf8').catch(() => '');
    return /"url":"(http:[^"]+\/metrics)"/.exec(log)?.[1];
  });
  const client = server.clientWith('token-of-admin');
  const { id } = await client.call('submitJob', {
    body: {
      type: 'mljs.run',
      pipeline: {
        kind: 'inline_json',
        inline: [{ pls: { components: 2 } }, { cross_validation: { folds: 2 } }],
      },
      dataset: { kind: 'shared_path', path: join(ROOT, 'examples/gasoline') },
    },
  });
  await until(
    'the job is done',
    async () => (await client.call('getJob', { params: { id } })).status === 'succeeded',
    60,
  );
  return { server, workerMetrics };
}

describe('the metrics of a server and a worker', () => {
  it('satisfy promtool', requires('promtool'), async (t) => {
    const { server, workerMetrics } = await cluster(t);
    const ofServer = await fetch(`${server.url}/metrics`, { headers: bearer('token-of-viewer') });
    const ofWorker = await fetch(workerMetrics);
    for (const answer of [ofServer, ofWorker]) {
      assert.equal(answer.status, 200);
      await assertPromtool(['check', 'metrics'], await answer.text());
    }
    assert.equal((await fetch(workerMetrics.replace('/metrics', '/'))).status, 404);
  });

  it(
    'are read by a Prometheus with the example configuration, and answer all queries of the dashboard',
    requires('prometheus'),
    async (t) => {
      const { server, workerMetrics } = await cluster(t);
      const folder = await temporaryDirectory(t);
      cpSync(OPERATIONS, folder, { recursive: true });
      await writeFile(join(folder, 'token'), 'token-of-viewer');
      const config = (await readFile(join(folder, 'prometheus.yml'), 'utf8'))
        .replaceAll('15s', '1s')
        .replace('127.0.0.1:8765', new URL(server.url).host)
        .replace('127.0.0.1:9101', new URL(workerMetrics).host);
      await writeFile(join(folder, 'prometheus.yml'), config);
      const address = `127.0.0.1:${await quietPort()}`;
      const prometheus = spawn(
        'prometheus',
        [
          ...['--config.file', join(folder, 'prometheus.yml'), '--storage.tsdb.path', join(folder, 'data')],
          ...['--web.listen-address', address, '--log.level', 'error'],
        ],
        { stdio: 'ignore' },
      );
      t.after(() => prometheus.kill('SIGKILL'));
      const ask = async (
        query: string,
      ): Promise<{ metric: Record<string, string>; value: [number, string] }[]> => {
        const answer = await fetch(`http://${address}/api/v1/query?query=${encodeURIComponent(query)}`);
        const { status, data, error } = (await answer.json()) as {
          status: string;
          error?: string;
          data: { result: [] };
        };
        assert.equal(status, 'success', `${query}: ${error}`);
        return data.result;
      };
      const values = async (query: string) => (await ask(query)).map(({ value }) => value[1]);
      await until('both are up', async () => (await values('up').catch(() => [])).join() === '1,1', 60);
      assert.deepEqual(await values('jq_jobs_ended_total{end="succeeded"}'), ['1']);
      assert.deepEqual(await values('jq_worker_attempts_total{end="succeeded"}'), ['1']);
      assert.deepEqual(await values('jq_worker_connected'), ['1']);
      for (const question of questions()) await ask(question);
      const found = (await (await fetch(`http://${address}/api/v1/rules`)).json()) as {
        data: { groups: { rules: { name: string }[] }[] };
      };
      const loaded = found.data.groups.flatMap((group) => group.rules.map(({ name }) => name));
      assert.deepEqual(
        loaded.sort(),
        rules()
          .map(({ alert }) => alert)
          .sort(),
      );
    },
  );
});
