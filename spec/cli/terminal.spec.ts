import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { after, before, describe, it } from 'node:test';
import { ago, bytes, duration, metric } from '../../bin/terminal/format.ts';
import { Output } from '../../bin/terminal/output.ts';
import { plain, plainLines } from '../../bin/terminal/plain.ts';
import { Progress } from '../../bin/terminal/progress.ts';
import { run, start } from './cli-support.ts';
import { aJob, anArtifact, anEvent, aTask, fakeServer } from './fake-server.ts';

const ESCAPE = '\u001b';
/** Clears the screen, sets the title, reorders text, begins a line of its own. */
const HOSTILE = `${ESCAPE}[2J${ESCAPE}]0;owned\u0007\u202egnp\r\nfake: line\u009b31m`;

describe('text from outside', () => {
  it('cannot control the terminal: control and reordering characters are shown as escapes', () => {
    assert.equal(plain(HOSTILE), '\\x1b[2J\\x1b]0;owned\\x07\\u202egnp\\r\\nfake: line\\x9b31m');
    assert.equal(plain('Größe 10 µm – 日本'), 'Größe 10 µm – 日本');
  });

  it('in several lines loses its colours, and a redrawn line becomes a new one', () => {
    assert.deepEqual(plainLines(`a\tb\r${ESCAPE}[32mc${ESCAPE}[0m\r\nd\u0007\n`), ['a\tb', 'c', 'd\\x07']);
  });
});

describe('output on a terminal', () => {
  let server: Awaited<ReturnType<typeof fakeServer>>;
  before(async () => {
    const ranking = [
      {
        task_id: 'task_1',
        dataset: HOSTILE,
        pipeline: HOSTILE,
        best_rmse: 0.2104321,
        metrics: { best_r2: 0.98 },
      },
    ];
    const job = aJob(
      { name: HOSTILE, error: HOSTILE, owner: HOSTILE, warnings: [HOSTILE] },
      { ranking, errors: { task_1: HOSTILE }, best_metric: 0.2104321 },
    );
    const worker = {
      name: HOSTILE,
      labels: { [HOSTILE]: HOSTILE },
      status: 'alive',
      id: HOSTILE,
      last_seen_at: 1,
      slots_used: 1,
      slots_total: 4,
      capabilities: { libraries: [HOSTILE] },
      version: { packages: { [HOSTILE]: HOSTILE } },
      cluster_version: HOSTILE,
      version_divergent: true,
    };
    server = await fakeServer({
      'GET /v1/jobs/job_1': { body: job },
      'GET /v1/jobs/job_1/tasks': {
        body: [aTask({ pipeline_label: HOSTILE, dataset_label: HOSTILE }), aTask({ id: 'task_2' })],
      },
      'GET /v1/jobs/job_1/events': {
        body: [
          anEvent({ message: HOSTILE, task_id: 'task_1' }),
          anEvent({ id: 2, type: HOSTILE, message: HOSTILE, level: 'error' }),
        ],
      },
      'GET /v1/jobs/job_1/artifacts': { body: [anArtifact({ role: HOSTILE, filename: HOSTILE })] },
      'GET /v1/jobs': { body: [job] },
      'GET /v1/workers': { body: [worker] },
      'GET /v1/stats': { status: 500, body: { detail: HOSTILE } },
      'POST /v1/jobs/job_1/cancel': { body: job },
    });
  });
  after(() => server.stop());

  const COMMANDS = [
    ['status', 'job_1'],
    ['logs', 'job_1'],
    ['artifacts', 'job_1'],
    ['cancel', 'job_1'],
    ['jobs'],
    ['workers'],
    ['stats'],
  ];
  const at = (argv: string[], options: Parameters<typeof run>[1] = {}) =>
    run([...argv, '--server', server.url], options);

  for (const argv of COMMANDS) {
    it(`of ${argv[0]} holds no control sequence from a hostile name`, async () => {
      const { stdout, stderr } = await at(argv, { terminal: true });
      const text = stdout + stderr;
      assert.ok(
        text.includes('\\x1b') || argv[0] === 'cancel' || text.includes('owned') || text.includes('…'),
        text,
      );
      // What remains are the colours of this program itself.
      // biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control sequences
      const rest = text.replace(/\u001b\[\d{1,2}m/g, '');
      assert.doesNotMatch(rest, /[^\P{Cc}\n]|\u202e/u);
      assert.doesNotMatch(rest, /^fake: line/m);
    });
  }

  it('is coloured, but not where NO_COLOR is set or the terminal is dumb', async () => {
    assert.ok((await at(['status', 'job_1'], { terminal: true })).stdout.includes(`${ESCAPE}[`));
    for (const [name, value] of [
      ['NO_COLOR', '1'],
      ['TERM', 'dumb'],
    ] as const) {
      const env = { [name]: value };
      const { stdout, stderr } = await at(['status', 'job_1'], { terminal: true, env });
      assert.ok(!(stdout + stderr).includes(ESCAPE), name);
    }
  });

  it('is plain where it is not a terminal', async () => {
    for (const argv of COMMANDS) {
      const { stdout, stderr } = await at(argv);
      assert.ok(!(stdout + stderr).includes(ESCAPE), argv[0]);
    }
  });

  it('fits its lists into the width of the terminal, and cuts nothing elsewhere', async () => {
    for (const argv of [['jobs'], ['workers'], ['artifacts', 'job_1']]) {
      const narrow = await at(argv, { terminal: true, env: { NO_COLOR: '1' } });
      for (const line of narrow.stdout.split('\n')) assert.ok(line.length <= 80, line);
      const wide = await at(argv);
      assert.ok(!wide.stdout.includes('…'));
    }
  });

  it('under --json is the text of the server and nothing else', async () => {
    for (const argv of COMMANDS.slice(0, 6)) {
      const { stdout } = await at([...argv, '--json'], { terminal: true });
      for (const line of stdout.trimEnd().split('\n')) JSON.parse(line);
      assert.ok(!stdout.includes(ESCAPE));
    }
  });
});

describe('a reader that closes early, such as head,', () => {
  it('ends the program without a message', async () => {
    const body = Array.from({ length: 3000 }, (_, i) => anEvent({ id: i + 1, message: 'x'.repeat(200) }));
    const server = await fakeServer({
      'GET /v1/jobs/job_1/tasks': { body: [aTask()] },
      'GET /v1/jobs/job_1/events': { body },
    });
    const { child, outcome } = start('jqctl', ['logs', 'job_1', '--server', server.url]);
    child.stdout.once('data', () => child.stdout.destroy());
    const { code, stderr, signal } = await outcome;
    await server.stop();
    assert.deepEqual({ code, stderr, signal }, { code: 0, stderr: '', signal: null });
  });
});

describe('lists on a narrow terminal', () => {
  const id = (kind: string, end: string) => `${kind}_01m8hqmkm6g979c4nt${end.padStart(8, '0')}`;
  for (const columns of [60, 80, 120]) {
    it(`of ${columns} columns have lines that fit, and ids by an end that commands take`, async (t) => {
      const job = aJob({ id: id('job', '7fq1bvvs'), name: 'wheat, all instruments of the year' });
      Object.assign(job.aggregate, { num_tasks: 12, num_succeeded: 1, num_failed: 11, best_metric: 0.1592 });
      const artifact = anArtifact({ id: id('art', 'a1'), task_id: id('task', 'b2') });
      const worker = {
        status: 'alive',
        slots_total: 8,
        slots_used: 2,
        last_seen_at: 1,
        labels: { site: 'lab' },
      };
      const version = { packages: { mljs: '0.1.0', nirs4all: '0.9.12' } };
      const server = await fakeServer({
        'GET /v1/jobs': { body: [job] },
        [`GET /v1/jobs/${job.id}/artifacts`]: { body: [artifact] },
        'GET /v1/workers': {
          body: [{ ...worker, id: id('worker', 'c3'), name: 'bench-3', cluster_version: '0.1.0', version }],
        },
      });
      t.after(() => server.stop());
      for (const [argv, end] of [
        [['jobs'], '7fq1bvvs'],
        [['artifacts', job.id], '000000b2'],
        [['workers'], '000000c3'],
      ] as const) {
        const { code, stdout, stderr } = await run([...argv, '--server', server.url], {
          terminal: true,
          columns,
          env: { NO_COLOR: '1' },
        });
        assert.equal(code, 0, stderr);
        assert.ok(stdout.includes(end), `${argv[0]}: ${stdout}`);
        for (const line of stdout.split('\n')) assert.ok([...line].length <= columns, `${line}|`);
      }
    });
  }
});

describe('numbers for people', () => {
  it('metrics have four significant digits', () => {
    assert.deepEqual([0.21043, 12, 1234.5678, 0, null, 1e-7, -0.5].map(metric), [
      '0.2104',
      '12',
      '1235',
      '0',
      '-',
      '1.000e-7',
      '-0.5000',
    ]);
  });

  it('spans have at most two units', () => {
    assert.deepEqual([0.04, 9.94, 42, 200, 18_120, 273_600, 60].map(duration), [
      '0.0 s',
      '9.9 s',
      '42 s',
      '3 min 20 s',
      '5 h 2 min',
      '3 d 4 h',
      '1 min',
    ]);
    assert.deepEqual([0.2, 3.4, 75, 90_000].map(ago), ['just now', '3 s ago', '1 min ago', '1 d ago']);
  });

  it('sizes have decimal units', () => {
    assert.deepEqual([0, 512, 999, 1000, 1_440_000, 2e12].map(bytes), [
      '0 B',
      '512 B',
      '999 B',
      '1.0 kB',
      '1.4 MB',
      '2.0 TB',
    ]);
  });

  it('the time beside a bar counts what has gone on before the bar came', async () => {
    const stderr = Object.assign(new PassThrough(), { isTTY: true, columns: 100 });
    const context = { stdin: process.stdin, stdout: new PassThrough(), stderr, env: {}, colorDepth: 1 };
    const progress = new Progress(new Output(context, false), 4, '', 3700);
    progress.update(1, '1/4 tasks');
    progress.stop();
    assert.match(String(stderr.read()), /25% 1\/4 tasks .*1 h 1 min/);
  });
});
