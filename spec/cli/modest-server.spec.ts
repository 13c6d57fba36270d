import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { ModestServer } from '../support/modest-server.ts';
import { neededMembers, optionalMembers, type ViewName } from '../support/modest-views.ts';
import { temporaryDirectory } from '../support/server.ts';
import { type Outcome, run, start } from './cli-support.ts';
import { jobOf } from './played-worker.ts';

/** Commands whose output is made of these views, and how they end. */
const READERS: [ViewName, ...string[][]][] = [
  [
    'JobView',
    ['jobs'],
    ['status', 'job_1'],
    ['wait', 'job_1', '--allow-failed'],
    ['cancel', 'job_1'],
    ['top'],
  ],
  ['TaskView', ['status', 'job_1'], ['logs', 'job_1']],
  ['WorkerView', ['workers'], ['top']],
  ['EventView', ['logs', 'job_1'], ['logs', 'job_1', '--follow']],
  ['ArtifactView', ['artifacts', 'job_1']],
  ['ClusterStats', ['stats'], ['top']],
];

/** What nobody should ever read: errors of the program, and values that are missing. */
function assertReadable({ code, stdout, stderr }: Outcome, what: string): void {
  const text = stdout + stderr;
  assert.ok(!/internal fault|NaN|undefined|\[object Object\]|Infinity/.test(text), `${what}: ${text}`);
  assert.notEqual(code, 70, what);
}

async function modest(t: TestContext, modesty: Parameters<typeof ModestServer.start>[1] = {}) {
  const server = await ModestServer.start(t, modesty);
  const env = { JQ_SERVER: server.url, ...(modesty.token === undefined ? {} : { JQ_TOKEN: modesty.token }) };
  return { server, env, ctl: (...argv: string[]) => run(argv, { env, stdin: jobOf('a.yaml') }) };
}

describe('the command line, at a server whose views lack', () => {
  for (const [view, ...commands] of READERS) {
    for (const member of optionalMembers(view)) {
      it(`${member} of ${view}, still shows what it knows`, async (t) => {
        const { ctl } = await modest(t, { leaveOut: { [view]: [member] } });
        for (const command of commands) {
          const outcome = await ctl(...command);
          assertReadable(outcome, `${command.join(' ')}`);
          assert.equal(outcome.code, 0, `${command.join(' ')}: ${outcome.stderr}`);
        }
      });
    }

    for (const member of neededMembers(view)) {
      it(`${member} of ${view}, says so in one sentence`, async (t) => {
        const { ctl } = await modest(t, { leaveOut: { [view]: [member] } });
        for (const command of commands) {
          const outcome = await ctl(...command);
          assertReadable(outcome, command.join(' '));
          assert.equal(outcome.code, 4, `${command.join(' ')}: ${outcome.stdout}${outcome.stderr}`);
          assert.match(outcome.stderr, /this server cannot be understood: .* lacks '/);
        }
      });
    }
  }
});

describe('the command line, at a server that leaves out all that it may, with a credential', () => {
  const ENDS: [number, ...string[]][] = [
    ...[
      ['jobs'],
      ['status', 'job_1'],
      ['wait', 'job_1'],
      ['cancel', 'job_1'],
      ['logs', 'job_1'],
      ['workers'],
    ].map((argv): [number, ...string[]] => [0, ...argv]),
    ...[
      ['logs', 'job_1', '--follow'],
      ['artifacts', 'job_1'],
      ['stats'],
      ['top', '--once'],
      ['top', '--json'],
    ].map((argv): [number, ...string[]] => [0, ...argv]),
    [0, 'submit', 'examples/gasoline-matrix.yaml', '--wait'],
    [
      0,
      'run',
      '--lib',
      'mljs',
      '--pipeline',
      'examples/pipelines/pls.yaml',
      '--dataset',
      '/data/x',
      '--json',
    ],
    // What the specification does not ask for, it does not have.
    [2, 'events'],
    [2, 'retry', 'job_1'],
    [2, 'resubmit', 'job_1'],
    [2, 'machines'],
    [2, 'inspect', '--json'],
    [2, 'status', 'job_7'],
  ];
  for (const [code, ...argv] of ENDS) {
    it(`jqctl ${argv.join(' ')} ends with ${code}`, async (t) => {
      const { env } = await modest(t, { token: 's3cret' });
      const outcome = await start('jqctl', argv, env).outcome;
      assertReadable(outcome, argv.join(' '));
      assert.equal(outcome.code, code, outcome.stderr);
      if (code !== 0) assert.match(outcome.stderr, /^error: this server does not know \w+ \/v1\//);
    });
  }

  it('follows all events, with the credential in the address of the stream, the only place where it is accepted', async (t) => {
    const { env, server } = await modest(t, { token: 's3cret' });
    const { child, said, outcome } = start('jqctl', ['events', '--follow'], env);
    t.after(() => child.kill('SIGKILL'));
    child.stdout.on('data', () => said.stdout.includes('a_word_of_its_own') && child.kill('SIGINT'));
    assertReadable(await outcome, 'events --follow');
    assert.match(said.stdout, /a_word_of_its_own/);
    const streams = server.seen.filter(({ line }) => line.startsWith('WS '));
    assert.deepEqual(streams.map(({ query }) => query.get('token')).slice(0, 2), [null, 's3cret']);
  });

  it('downloads what it lists, though there is no hash to compare with', async (t) => {
    const { ctl } = await modest(t);
    const out = await temporaryDirectory(t);
    const { code, stderr } = await ctl('artifacts', 'job_1', '--out', out);
    assert.equal(code, 0, stderr);
    assert.equal(await readFile(join(out, 'file'), 'utf8'), 'a model');
  });

  it('uploads files under names that every parser reads', async (t) => {
    const { ctl, server } = await modest(t);
    const argv = '--lib mljs --pipeline examples/pipelines/pls.yaml --dataset examples/gasoline'.split(' ');
    const { code, stderr } = await ctl('run', ...argv, '--upload');
    assert.equal(code, 0, stderr);
    const names = server.seen.flatMap(({ line, body }) =>
      line === 'POST /v1/artifacts' ? [/Content-Disposition: (.*)\r\n/.exec(body)?.[1]] : [],
    );
    assert.deepEqual(names.sort(), [
      'form-data; name="file"; filename="gasoline.zip"',
      'form-data; name="file"; filename="pls.yaml"',
    ]);
  });
});
