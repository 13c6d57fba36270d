import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { run } from './cli-support.ts';

const COMMANDS = [
  ...'submit status logs wait ranking artifacts jobs cancel retry resubmit run check'.split(' '),
  ...['workers', 'stats', 'tokens', 'events', 'top', 'machines', 'inspect', 'server', 'worker', 'completion'],
];

describe('the help', () => {
  it('names every command, and every exit code', async () => {
    const { code, stdout, stderr } = await run(['--help']);
    assert.equal(code, 0);
    assert.equal(stderr, '');
    for (const command of COMMANDS) assert.match(stdout, new RegExp(`jqctl ${command} `));
    for (const exit of [0, 1, 2, 3, 4, 5, 74, 130])
      assert.match(stdout, new RegExp(`^ {2}${exit} +\\w`, 'm'));
  });

  for (const command of COMMANDS) {
    it(`of ${command} lists its options and its exit codes in 80 columns`, async () => {
      const { code, stdout } = await run([command, '--help']);
      assert.equal(code, 0);
      assert.match(stdout, new RegExp(`^jqctl ${command} .*\\[options\\]`));
      assert.match(stdout, /--json/);
      assert.match(stdout, /^Exit codes\n {2}0 +\w/m);
      assert.doesNotMatch(stdout, /#0|<[A-Z]/, 'every option names its value');
      for (const line of stdout.split('\n')) assert.ok(line.length <= 80 || line.includes('$ '), line);
    });
  }

  it('of the single programs is that of the command, without its name', async () => {
    const server = await run(['--help'], { program: 'jq-server' });
    assert.match(server.stdout, /^jq-server \[options\]/);
    assert.match(server.stdout, /--principal PRINCIPAL/);
    const worker = await run(['-h'], { program: 'jq-worker' });
    assert.match(worker.stdout, /--labels LABELS/);
  });
});

describe('wrong usage', () => {
  const wrong: [title: string, argv: string[], says: RegExp][] = [
    ['an unknown command, with the nearest one', ['statsu'], /no command 'statsu', did you mean 'stats'\?/],
    [
      'an unknown option after others, with the nearest one',
      ['worker', '--state', 'd', '--slot', '2'],
      /^error: Unsupported option name \("--slot"\), did you mean --slots\?\nSee: jqctl worker --help\n$/,
    ],
    [
      'a value that looks like an option',
      ['worker', '--memory-gb', '-1'],
      /--memory-gb needs a value: --memory-gb GIB; .* as --memory-gb=-1/,
    ],
    ['a value that is missing', ['worker', '--state', 'd', '--slots'], /--slots needs a value: --slots N/],
    ['an argument too many after options', ['worker', '--slots', '2', 'x'], /positional argument \("x"\)/],
    ['a value of a switch', ['submit', 'x.yaml', '--wait=5'], /--wait takes no value/],
    ['an unknown option', ['jobs', '--bogus'], /--bogus[\s\S]*jqctl jobs --help/],
    ['a missing job', ['status'], /name a job by its id/],
    ['an argument too many', ['stats', 'x'], /"x"/],
    ['no command at all', [], /jqctl <command>/],
    ['a limit that is no number', ['jobs', '--limit', 'many'], /--limit: 'many' is not a whole number/],
    ['a limit out of range', ['jobs', '--limit', '0'], /--limit: '0' .* from 1 to 1000/],
    [
      'a status that does not exist',
      ['jobs', '--status', 'done'],
      /--status: 'done' is none of queued, running/,
    ],
    ['a time limit of zero', ['wait', 'job_1', '--timeout', '0'], /--timeout: '0' is not a number/],
    ['an empty job id', ['status', ''], /job id is empty/],
    ...[['submit', 'x.yaml'], ['run'], ['retry', 'job_1'], ['resubmit', 'job_1']].flatMap((argv) =>
      [['--timeout', '3'], ['--allow-failed']].map((flags): [string, string[], RegExp] => [
        `${flags[0]} of ${argv[0]} without --wait`,
        [...argv, ...flags],
        new RegExp(`${flags[0]} needs --wait`),
      ]),
    ),
    ['a part of an option', ['retry', 'job_1', '--failed'], /did you mean --allow-failed\?/],
    ['an address without its scheme', ['stats', '--server', 'lab:8765'], /did you mean http:\/\/lab:8765\?/],
    [
      'an address with a query',
      ['stats', '--server', 'http://lab/queue?x'],
      /scheme, host, port and path alone, such as http:\/\/lab\/queue/,
    ],
    ['a token that no header can carry', ['stats', '--token', 'two words'], /--token: .* spaces/],
    ['a port out of range', ['server', '--port', '70000'], /--port: '70000' .* from 0 to 65535/],
    [
      'a negative artifact limit',
      ['server', '--max-artifact-mb=-1'],
      /--max-artifact-mb: '-1' .* from 0 to 1000000000/,
    ],
    ['a lease time of zero', ['server', '--lease-ttl', '0'], /--lease-ttl: '0' .* above 0 and at most 86400/],
    ['a log level that does not exist', ['server', '--log-level', 'loud'], /--log-level: 'loud' is none of/],
    [
      'heartbeats slower than leases',
      ['server', '--lease-ttl', '5'],
      /--heartbeat-interval: must be shorter/,
    ],
    ['a worker without slots', ['worker', '--slots', '0'], /--slots: '0'/],
    ['labels that are no pairs', ['worker', '--labels', 'site'], /--labels: 'site' is not of the form/],
    ['a label given twice', ['worker', '--labels', 'a=1,a=2'], /--labels: 'a' is given twice/],
    ['a dataset without a path', ['worker', '--dataset', 'corn'], /--dataset: 'corn' is not of the form/],
  ];
  for (const [title, argv, says] of wrong) {
    it(`${title}: exit code 2, the reason on stderr, nothing on stdout`, async () => {
      const { code, stdout, stderr } = await run(argv);
      assert.equal(code, 2);
      assert.match(stderr, says);
      assert.equal(stdout, '');
      assert.doesNotMatch(stderr, /\n +at /, 'no stack trace');
    });
  }

  it('without an option that is needed names it', async () => {
    for (const [argv, says] of [
      [['migrate'], /^error: --store STORE is needed\nSee: jq-server migrate --help\n$/],
      [['copy'], /--from STORE and --to STORE are needed/],
      [['copy', '--to', 'sqlite:d'], /^error: --from STORE is needed/],
    ] as const) {
      const { code, stderr } = await run([...argv], { program: 'jq-server' });
      assert.equal(code, 2);
      assert.match(stderr, says);
    }
  });

  it('with an option that is similar to none suggests none: half of the letters being different is too much', async () => {
    for (const [command, flag] of [
      ['status', '--wait'],
      ['cancel', '--wait'],
      ['jobs', '--sort'],
    ] as const) {
      const { code, stderr } = await run([command, flag]);
      assert.deepEqual([code, /did you mean/.test(stderr)], [2, false], stderr);
    }
  });

  it('of an environment variable names the variable', async () => {
    const { code, stderr } = await run(['stats'], { env: { JQ_SERVER: 'nonsense here' } });
    assert.equal(code, 2);
    assert.match(stderr, /JQ_SERVER: 'nonsense here'/);
  });
});
