import assert from 'node:assert/strict';
import { PassThrough, Writable } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { type ClusterSnapshot, throughput } from '../../bin/jobs/cluster-snapshot.ts';
import { runProgram } from '../../bin/program.ts';
import { bar, sparkline } from '../../bin/terminal/bar.ts';
import { quietPort } from '../support/program.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { run } from './cli-support.ts';
import { aJob, fakeServer } from './fake-server.ts';
import { jobOf } from './played-worker.ts';
import { scene } from './scene.ts';

const submit = (url: string, ...pipelines: string[]) =>
  run(['submit', '-', '--server', url], { stdin: jobOf(...pipelines) });
const [ENTER, LEAVE, HOME] = ['\u001b[?1049h', '\u001b[?1049l', '\u001b[H'];

/** A terminal with a person in front of it. */
class Terminal extends Writable {
  isTTY = true;
  columns: number;
  rows: number;
  text = '';
  readonly keyboard = Object.assign(new PassThrough(), {
    isTTY: true,
    isRaw: false,
    setRawMode(raw: boolean) {
      this.isRaw = raw;
    },
  });

  constructor(columns = 80, rows = 24) {
    super();
    this.columns = columns;
    this.rows = rows;
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk;
    done();
  }

  /** What is on the screen now, as plain lines. */
  get screen(): string[] {
    const frame = this.text.split(HOME).at(-1) ?? '';
    return stripVTControlCharacters(frame.split(LEAVE)[0] ?? '').split('\r\n');
  }

  shows(what: string, pattern: RegExp): Promise<unknown> {
    return until(what, () => this.screen.some((line) => pattern.test(line)));
  }

  press(key: string): void {
    this.keyboard.write(key);
  }

  top(...argv: string[]): Promise<number> {
    const stderr = new PassThrough();
    stderr.on('data', (chunk) => {
      this.text += chunk;
    });
    const streams = { env: { TERM: 'xterm' }, stdin: this.keyboard, stdout: this, stderr };
    return runProgram('jqctl', ['top', '--interval', '0.2', ...argv], streams as never);
  }
}

describe('top, where stdout is no terminal,', () => {
  it('prints one snapshot of jobs, workers and throughput, and ends', async (t) => {
    const { server, ctl, submit, play } = await scene(t);
    const worker = await play(8);
    await submit('a.yaml', 'b.yaml', 'c.yaml', 'd.yaml');
    await worker.complete(await worker.take(), { best_rmse: 0.25 });
    await worker.take();
    const { code, stdout, stderr } = await ctl('top');
    assert.deepEqual([code, stderr], [0, '']);
    assert.match(stdout, new RegExp(`^${server.url} {2}version `));
    assert.match(stdout, /^jobs +1 running$/m);
    assert.match(stdout, /^tasks +2 queued, 1 running, 1 succeeded$/m);
    assert.match(stdout, /^workers +1 alive, 0 dead {3}█░{9} 1 of 8 slots in use$/m);
    assert.match(stdout, /^queue +2 now .*peak 2$/m);
    assert.match(stdout, /^job_\w+ +played +running +█{3}░{9} 1\/4 +best_rmse 0\.25\d* /m);
    assert.match(stdout, /^played +alive +█░{5} 1\/8 /m);
    assert.ok(!stdout.includes('\u001b'));
  });

  it('says so when there is nothing', async (t) => {
    const { ctl } = await scene(t);
    const { stdout } = await ctl('top');
    assert.match(stdout, /^jobs +none$[\s\S]*^no jobs$[\s\S]*^no workers$/m);
  });

  it('under --json prints one document', async (t) => {
    const { server, submit } = await scene(t);
    await submit('a.yaml');
    const { code, stdout } = await run(['top', '--json', '--server', server.url], { terminal: true });
    assert.equal(code, 0);
    const { stats, history, jobs, workers } = JSON.parse(stdout);
    assert.deepEqual(
      [stats.jobs_by_status.queued, history.length, jobs[0].name, workers],
      [1, 60, 'played', []],
    );
  });

  it('refuses an interval that would only burden the server', async () => {
    const { code, stderr } = await run(['top', '--interval', '0.01']);
    assert.equal(code, 2);
    assert.match(stderr, /--interval: '0.01' is not a number from 0.2 to 3600/);
  });
});

describe('top on a terminal', () => {
  it('shows the present state until q, and restores the terminal', async (t) => {
    const { server, submit } = await scene(t);
    const terminal = new Terminal();
    const code = terminal.top('--server', server.url);
    await terminal.shows('the first view', /^no jobs$/);
    assert.ok(terminal.keyboard.isRaw);
    await submit('a.yaml');
    await terminal.shows('the job', /^job_\w+ +played +queued +0\/1 /);
    terminal.press('x');
    terminal.press('q');
    assert.equal(await code, 0);
    assert.ok(terminal.text.startsWith(ENTER) && terminal.text.endsWith(LEAVE));
    assert.ok(terminal.text.lastIndexOf('\u001b[?25h') > terminal.text.lastIndexOf('\u001b[?25l'));
    assert.equal(terminal.keyboard.isRaw, false);
  });

  it('ends by Ctrl-C with 130', async (t) => {
    const { server } = await scene(t);
    const terminal = new Terminal();
    const code = terminal.top('--server', server.url);
    await terminal.shows('the first view', /^no jobs$/);
    terminal.press('\u0003');
    assert.equal(await code, 130);
    assert.ok(terminal.text.endsWith(LEAVE));
  });

  it('keeps the last view while the server is away, and goes on when it is back', async (t) => {
    const first = await startTestServer(t, { port: await quietPort() });
    await submit(first.url, 'a.yaml');
    const terminal = new Terminal();
    const code = terminal.top('--server', first.url);
    await terminal.shows('the job', /^job_/);
    await first.stop();
    await terminal.shows('the trouble', /cannot reach .*; trying again$/);
    assert.ok(terminal.screen.some((line) => line.startsWith('job_')));
    const second = await startTestServer(t, { state: first.stateDir, port: first.port });
    await terminal.shows('that all is well', /^q to quit$/);
    assert.equal(second.port, first.port);
    terminal.press('q');
    assert.equal(await code, 0);
  });

  it('ends when the server refuses, with the reason after the view', async (t) => {
    const server = await startTestServer(t, { token: 'secret' });
    const terminal = new Terminal();
    assert.equal(await terminal.top('--server', server.url, '--token', 'wrong'), 3);
    assert.ok(!terminal.text.includes(ENTER), 'there was no view yet');
    assert.match(terminal.text, /credential is unknown/);
  });

  it('that cannot reach a server at first ends with 4', async () => {
    assert.equal(await new Terminal().top('--server', 'http://127.0.0.1:1'), 4);
  });
});

describe('the view of top', () => {
  const HOSTILE = '\u001b[2J\u202e\r\nfake';
  let server: Awaited<ReturnType<typeof fakeServer>>;
  before(async () => {
    const jobs = Array.from({ length: 60 }, (_, i) =>
      aJob({
        id: `job_01k9abcdefghijklmnopqrst${String(i).padStart(2, '0')}`,
        name: `${HOSTILE} ${i}`.repeat(9),
      }),
    );
    const worker = {
      status: 'alive',
      slots_total: 4,
      slots_used: 2,
      last_seen_at: 1,
      labels: { site: HOSTILE },
    };
    const workers = Array.from({ length: 30 }, (_, i) => ({
      ...worker,
      id: `worker_01k9abcdefghijklmnopqrst${i}`,
      name: `${HOSTILE} ${i}`,
    }));
    const minute = {
      ts: 0,
      submitted: 1,
      started: 1,
      succeeded: 12_345,
      failed: 0,
      queued: 9,
      workers_alive: 1,
    };
    const busy = { queued: 1_234_567, running: 99_999, succeeded: 1_234_567, failed: 12_345, cancelled: 1 };
    const stats = { jobs_by_status: busy, tasks_by_status: busy, workers_alive: 30, workers_dead: 0 };
    server = await fakeServer({
      'GET /v1/stats': { body: { ...stats, server_version: HOSTILE } },
      'GET /v1/stats/history': { body: Array.from({ length: 60 }, () => minute) },
      'GET /v1/jobs': { body: jobs },
      'GET /v1/workers': { body: workers },
    });
  });
  after(() => server.stop());

  for (const [columns, rows] of [
    [80, 24],
    [120, 30],
    [200, 50],
  ] as const) {
    it(`fits ${columns} columns and ${rows} lines, however much there is`, async () => {
      const terminal = new Terminal(columns, rows);
      const code = terminal.top('--server', server.url);
      await terminal.shows('the view', /^q to quit$/);
      const { screen } = terminal;
      terminal.press('q');
      await code;
      assert.ok(screen.length <= rows, `${screen.length} lines`);
      assert.equal(screen.at(-1), 'q to quit');
      for (const line of screen) assert.ok([...line].length <= columns, line);
      assert.equal(
        screen.filter((line) => /^and [\d,]+ more$/.test(line)).length,
        2,
        'of jobs and of workers',
      );
      assert.ok(screen.filter((line) => line.startsWith('job_')).length >= 4);
    });
  }

  it('follows the size of the terminal', async () => {
    const terminal = new Terminal(80, 24);
    const code = terminal.top('--interval', '60', '--server', server.url);
    await terminal.shows('the view', /^q to quit$/);
    Object.assign(terminal, { columns: 120, rows: 40 });
    terminal.emit('resize');
    await until('the larger view', () => terminal.screen.length > 24 && terminal.screen.length <= 40);
    terminal.press('q');
    assert.equal(await code, 0);
  });

  it('shows nothing that could control the terminal', async () => {
    const { stdout } = await run(['top', '--server', server.url]);
    assert.doesNotMatch(stdout, /[^\P{Cc}\n]|\u202e/u);
    assert.doesNotMatch(stdout, /^fake/m);
  });
});

describe('the numbers of top', () => {
  it('bars show a share, and nothing of nothing', () => {
    assert.deepEqual(
      [0, 0.5, 1, 7, -1, Number.NaN].map((share) => bar(share, 4)),
      ['░░░░', '██░░', '████', '████', '░░░░', '░░░░'],
    );
  });

  it('curves show the largest value full, and what is not nothing', () => {
    assert.equal(sparkline([0, 1, 50, 100, 1000]), ' ▁▁▁█');
    assert.equal(sparkline([0, 0]), '  ');
    assert.equal(sparkline([]), '');
  });

  it('throughput is what ended between two looks, by the second', () => {
    const look = (at: number, succeeded: number, failed: number) =>
      ({ at, stats: { tasks_by_status: { succeeded, failed } } }) as unknown as ClusterSnapshot;
    assert.equal(throughput(look(10, 4, 1), look(20, 20, 5)), 2);
    assert.equal(throughput(look(10, 4, 5), look(20, 4, 0)), 0, 'a retry takes its failed tasks back');
    assert.equal(throughput(undefined, look(20, 4, 0)), undefined);
    assert.equal(throughput(look(20, 4, 0), look(20, 4, 0)), undefined);
  });
});
