import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import type { Examined } from '../../bin/jobs/finding.ts';
import { examine } from '../../bin/jobs/health.ts';
import { Series } from '../../bin/jobs/series.ts';
import { ResponseError, unreachable } from '../../gateway/client/errors.ts';
import type { ServerView } from '../../machines/schema/servers.ts';
import type { WorkerView } from '../../machines/schema/views.ts';
import { run } from '../cli/cli-support.ts';
import { serverMetrics } from '../design/documents/metrics.ts';
import { emptyDatabase } from '../store/drivers.ts';
import { cuttingProxy } from '../support/cutting-proxy.ts';
import { fillable } from '../support/full-disk.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { startServerProgram } from '../support/server-program.ts';
import { until } from '../support/until.ts';

const HEALTH = ['health.ts', 'health-objects.ts', 'health-servers.ts'].map((name) =>
  readFileSync(new URL(`../../bin/jobs/${name}`, import.meta.url), 'utf8'),
);
const SERVER = 'http://127.0.0.1:8765';

const WELL = `
jq_store_bytes{file="database"} 4096
jq_commit_duration_seconds_sum 1
jq_commit_duration_seconds_count 100
jq_commit_failures_total 0
jq_disk_free_bytes 500e9
jq_disk_size_bytes 1000e9
jq_disk_reserve_bytes 268435456
jq_tasks{status="queued"} 3
jq_tasks{status="running"} 1
jq_slots{state="free"} 1
jq_queue_oldest_age_seconds{status="queued",requirement="labels.site=\\"a, b\\""} 20
jq_event_loop_delay_seconds{statistic="p99"} 0.01
process_start_time_seconds ${Date.now() / 1000 - 3600}
`;

const worker = (more: Partial<WorkerView> = {}): WorkerView => ({
  ...{
    id: 'worker_1',
    name: 'lab',
    status: 'alive',
    slots_total: 2,
    slots_used: 1,
    last_seen_at: 0,
    labels: {},
  },
  ...{ capabilities: {}, version: {}, cluster_version: '1.0.0', version_divergent: false },
  ...{ suspended: null, leaving: null, ...more },
});

interface Given extends Partial<Omit<Examined, 'own'>> {
  text?: string;
  notReady?: string;
}

/** Everything well, but for what is given. */
function examined({ text = '', notReady, ...more }: Given = {}): Examined {
  // The first line of a name counts.
  const metrics = new Series(text + WELL);
  return {
    ...{ server: SERVER, version: '1.0.0', ownVersion: '1.0.0', principal: 'ann', workers: [worker()] },
    ...{ clocks: { server: 1000, own: 1000.1 }, roundTrip: 0.01, own: metrics },
    ...{ leading: { server: SERVER, notReady: notReady ?? null, metrics } },
    ...{ servers: null, beside: [] },
    ...more,
  };
}

const OTHER = 'http://127.0.0.1:8766';
const beside = (said: boolean | Error) => examined({ beside: [{ server: OTHER, said }] });

const standby = (differs: string[]): ServerView => ({
  ...{ id: 'b', place: 'b (2)', address: OTHER, version: '1.0.0', status: 'standing_by', differs },
  ...{ since: 0, epoch: null, last_seen_at: 0, event_id: 0 },
});

const store = (trouble: string) =>
  examined({ text: `jq_object_store_usable{trouble="${trouble}"} ${trouble === '' ? 1 : 0}\n` });

const wrong = (found: Examined) =>
  examine(found)
    .filter(({ level }) => level !== 'ok')
    .map(({ about, level }) => `${level} ${about}`);

describe('jqctl doctor', () => {
  it('asks only for metrics that a server has', () => {
    const asked = new Set(HEALTH.join().match(/\b(jq|process)_\w+/g));
    for (const { name, type } of serverMetrics()) {
      asked.delete(name);
      if (type === 'histogram') for (const part of ['sum', 'count']) asked.delete(`${name}_${part}`);
    }
    assert.deepEqual([...asked], []);
  });

  it('reports no problem where all is well, and says so of each part', () => {
    const findings = examine(examined());
    assert.deepEqual(
      findings.map(({ about, level }) => `${level} ${about}`),
      ['server', 'store', 'disk', 'clocks', 'workers', 'versions', 'queue'].map((part) => `ok ${part}`),
    );
  });

  it('looks at store, disk and queue of the one that leads where it asks another, and says so where it cannot', () => {
    const metrics = new Series(`jq_disk_free_bytes 1000\n${WELL}`);
    const beside = examined({ leading: { server: 'http://a:8765', notReady: null, metrics } });
    assert.deepEqual(wrong(beside), ['problem disk']);
    assert.match(examine(beside)[1]?.says ?? '', /stands by; .* of http:\/\/a:8765, which leads/);
    const alone = examined({
      leading: { fault: 'the one that leads cannot be asked from here (ECONNREFUSED)' },
    });
    assert.deepEqual(
      examine(alone).map(({ about, level }) => `${level} ${about}`),
      ['ok server', 'warning store', 'ok clocks', 'ok workers', 'ok versions'],
    );
  });

  const cases: [what: string, found: Examined, wrong: string[]][] = [
    ['a store that cannot commit', examined({ notReady: 'the store cannot commit' }), ['problem store']],
    ['an object store that does not answer', store('unreachable'), ['problem objects']],
    ['an object store that refuses the credentials', store('refused'), ['problem objects']],
    ['an object store whose bucket is gone', store('no_bucket'), ['problem objects']],
    ['an object store that is that of others', store('not_ours'), ['problem objects']],
    ['an object store that fails', store('failing'), ['problem objects']],
    ['an object store that is well', store(''), []],
    [
      'an object store whose clock is another',
      examined({ text: 'jq_object_store_usable{trouble=""} 1\njq_object_store_clock_ahead_seconds -900\n' }),
      ['problem objects'],
    ],
    [
      'an object store whose clock is a minute off',
      examined({ text: 'jq_object_store_usable{trouble=""} 1\njq_object_store_clock_ahead_seconds 60\n' }),
      ['warning objects'],
    ],
    ['workers that nobody can tell of', examined({ workers: null, notReady: 'away' }), ['problem store']],
    ['commits that failed', examined({ text: 'jq_commit_failures_total 2\n' }), ['warning store']],
    ['slow commits', examined({ text: 'jq_commit_duration_seconds_sum 200\n' }), ['warning store']],
    [
      'a worker that is drained',
      examined({ workers: [worker(), worker({ drained: { by: 'olivia', at: 0, takes_back_at: null } })] }),
      ['warning workers'],
    ],
    [
      'tasks behind a pause',
      examined({ text: 'jq_queue_paused_tasks{kind="type",name="demo.run"} 2\n' }),
      ['warning queue'],
    ],
    [
      'a pause behind which nothing waits',
      examined({ text: 'jq_queue_paused_tasks{kind="all",name=""} 0\n' }),
      [],
    ],
    [
      'a certificate that expires',
      examined({ text: `jq_tls_certificate_expires_seconds ${Date.now() / 1000 + 9e5}\n` }),
      ['warning server'],
    ],
    [
      'a certificate that has expired',
      examined({ text: 'jq_tls_certificate_expires_seconds 1000\n' }),
      ['problem server'],
    ],
    [
      'a server that would lead otherwise',
      examined({ servers: [standby(['--lease-ttl'])] }),
      ['warning server'],
    ],
    ['a server that would lead alike', examined({ servers: [standby([])] }), []],
    ['an address that does not answer', beside(unreachable(OTHER, new Error('gone'))), ['warning server']],
    ['an address of another queue', beside(false), ['problem server']],
    [
      'an address where the credential is not known',
      beside(new ResponseError(401, { detail: 'unknown credential' })),
      ['problem server'],
    ],
    ['an address that stands by without its store', beside(new ResponseError(503, {})), []],
    ['a full disk', examined({ text: 'jq_disk_free_bytes 1000\n' }), ['problem disk']],
    ['a disk that is nearly full', examined({ text: 'jq_disk_free_bytes 30e9\n' }), ['warning disk']],
    ['clocks that differ', examined({ clocks: { server: 1000, own: 1020 } }), ['warning clocks']],
    ['clocks that differ much', examined({ clocks: { server: 5000, own: 1000 } }), ['problem clocks']],
    ['no worker while tasks wait', examined({ workers: [] }), ['problem workers']],
    ['no worker', examined({ workers: [], text: 'jq_tasks{status="queued"} 0\n' }), ['warning workers']],
    [
      'workers that are suspended, or gone',
      examined({
        workers: [
          worker(),
          worker({ suspended: 'its disk is full' }),
          worker({ status: 'dead' }),
          worker({ status: 'dead', leaving: 'stopped' }),
        ],
      }),
      ['warning workers', 'warning workers'],
    ],
    [
      'versions that differ',
      examined({ ownVersion: '0.9.0', workers: [worker({ version_divergent: true })] }),
      ['warning versions', 'warning versions'],
    ],
    [
      'a busy server',
      examined({ text: 'jq_event_loop_delay_seconds{statistic="p99"} 2\n' }),
      ['warning server'],
    ],
    [
      'notifications that do not arrive',
      examined({ text: 'jq_notifications_pending 3\njq_notifications_oldest_age_seconds 901\n' }),
      ['warning notify'],
    ],
    [
      'notifications that were given up',
      examined({ text: 'jq_notifications_given_up_total 1\n' }),
      ['warning notify'],
    ],
    [
      'tasks that wait beside free slots',
      examined({ text: 'jq_queue_oldest_age_seconds{status="queued",requirement="packages.x"} 9000\n' }),
      ['warning queue'],
    ],
  ];
  for (const [what, found, expected] of cases) {
    it(`reports ${what}, and says what to do`, () => {
      assert.deepEqual(wrong(found), expected);
      for (const finding of examine(found))
        assert.equal(finding.level === 'ok', finding.do === undefined, finding.says);
    });
  }

  it('examines a real server, and ends with 1 where something is wrong', async (t) => {
    const disk = fillable();
    const principals = ['bob:token-of-bob:viewer', 'lab:token-of-lab:executor'];
    const server = await startTestServer(t, { principals, hooks: disk.hooks });
    const doctor = (...argv: string[]) =>
      run(['doctor', '--server', server.url, '--token', 'token-of-bob', ...argv]);
    const lab = server.clientWith('token-of-lab', 'worker');
    await lab.call('registerWorker', { body: { name: 'lab-1' } });
    const well = await doctor();
    assert.equal(well.code, 0, well.stdout);
    assert.match(well.stdout, /^ok +workers +1 worker\(s\) take tasks, with 0 of 1 slots in use$/m);
    disk.isFull = true;
    await assert.rejects(lab.call('registerWorker', { body: {} }));
    const ill = await doctor('--json');
    assert.equal(ill.code, 1);
    const { ok, findings } = JSON.parse(ill.stdout) as {
      ok: boolean;
      findings: { level: string; about: string }[];
    };
    assert.equal(ok, false);
    assert.deepEqual(
      findings.filter(({ level }) => level === 'problem').map(({ about }) => about),
      ['store'],
    );
    assert.equal((await run(['doctor', '--server', server.url, '--token', 'wrong'])).code, 3);
    assert.equal((await run(['doctor', '--server', 'http://127.0.0.1:1'])).code, 4);
  });
});

describe('jqctl doctor that is told several addresses', () => {
  it('names those where nobody answers, that are of another queue, or where the credential is not known', async (t) => {
    const server = await startTestServer(t, { token: 'good' });
    // A process of its own, as servers are.
    const other = await startServerProgram({ state: await temporaryDirectory(t) });
    t.after(() => other.kill());
    const closed = await startTestServer(t, { token: 'better' });
    const nobody = 'http://127.0.0.1:1';
    const all = [server, other, closed].map(({ url }) => url);
    const { code, stdout } = await run([
      ...['doctor', '--token', 'good', '--server', [nobody, ...all, server.url].join(',')],
    ]);
    assert.equal(code, 1, stdout);
    assert.match(stdout, new RegExp(`^ok +server +${server.url} runs`, 'm'));
    assert.match(stdout, new RegExp(`^warning +server +cannot reach ${nobody} `, 'm'));
    assert.match(stdout, new RegExp(`^problem +server +${other.url} is none of the servers beside`, 'm'));
    assert.match(stdout, new RegExp(`^problem +server +${closed.url} refuses this credential`, 'm'));
    assert.doesNotMatch(stdout, new RegExp(`(warning|problem) +server +${server.url}`));
  });
});

describe('jqctl doctor at a server whose database is away', requires('postgresql'), () => {
  it('says so, and is told what the server measures all the same', async (t) => {
    const address = new URL(await emptyDatabase());
    const proxy = await cuttingProxy(t, Number(address.port));
    address.port = `${proxy.port}`;
    const server = await startTestServer(t, { store: address.href });
    assert.equal((await run(['doctor', '--server', server.url])).code, 0);
    proxy.refuses = true;
    proxy.cutAll();
    await until('it not to be ready', async () => (await fetch(`${server.url}/readyz`)).status === 503);
    const { code, stdout } = await run(['doctor', '--server', server.url]);
    assert.equal(code, 1, stdout);
    assert.match(stdout, /^problem +store +the store cannot commit.*\n.* or at its database$/m);
    assert.match(stdout, /^ok +queue /m);
    proxy.refuses = false;
  });
});
