import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { idLines } from '../../bin/completion/ids.ts';
import { MACHINE_NAMES } from '../../machines/charts/names.ts';
import { JOB_STATUSES } from '../../machines/schema/statuses.ts';
import { heard } from '../support/heard.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { ROOT, run, start } from './cli-support.ts';
import { aJob, aTask, fakeServer } from './fake-server.ts';
import { jobOf, playWorker } from './played-worker.ts';

const NOBODY = 'http://127.0.0.1:1';
const scriptOf = async (shell: string) => (await run(['completion', shell])).stdout;

interface Place {
  env?: Record<string, string>;
  cwd?: string;
}

/** Runs a program with a script on its stdin; what it printed, by lines. */
async function lines(
  program: string,
  argv: string[],
  stdin: string,
  { env = {}, cwd = ROOT }: Place = {},
): Promise<string[]> {
  const path = `${ROOT}bin:${process.env.PATH}`;
  const child = spawn(program, argv, {
    cwd,
    env: { PATH: path, HOME: '/nonexistent', TERM: 'dumb', ...env },
  });
  // A shell that reads no input may end before it is there.
  child.stdin.on('error', () => {});
  child.stdin.end(stdin);
  const { code, stdout, stderr } = await heard(child).outcome;
  assert.deepEqual([code, stderr], [0, '']);
  return stdout.split('\n').filter((line) => line !== '');
}

/** What bash offers when Tab is pressed at the end of a line. */
async function bash(line: string, place: Place = {}): Promise<string[]> {
  const script = `${await scriptOf('bash')}
    COMP_LINE=$1 COMP_POINT=\${#1} COMP_WORDS=($1)
    _jqctl
    (( \${#COMPREPLY[@]} == 0 )) || printf '%s\\n' "\${COMPREPLY[@]}"`;
  return lines('bash', ['--norc', '--noprofile', '-s', '--', line], script, place);
}

/** The same of fish, without its descriptions. */
async function fish(line: string, place: Place = {}): Promise<string[]> {
  const script = `${await scriptOf('fish')}\ncomplete -C ${JSON.stringify(line)}`;
  const offered = await lines('fish', ['-c', script], '', place);
  return offered.map((text) => text.split('\t')[0] as string);
}

/** Makes a zsh on a terminal of its own print what it would offer, and end. */
const ZSH_SETUP = (folder: string) => `
  PS1= PS2= fpath=(${folder} $fpath)
  autoload -U compinit && compinit -u -D
  zstyle ':completion:*' list-grouped false
  compadd() {
    # Calls that only sort out words add nothing.
    if [[ \${@[1,(i)(-|--)]} == *-[OAD]\\ * ]]; then builtin compadd "$@"; return; fi
    local -a replies
    builtin compadd -A replies "$@"
    print -rl -- '<'\${^replies}'>'
    builtin compadd "$@"
  }
  finish() { print '<finished>'; exit }
  comppostfuncs=(finish)
  bindkey '^I' complete-word
  print ready'now'
`;

/** The same of zsh. */
async function zsh(line: string, place: Place = {}): Promise<string[]> {
  const folder = place.env?.ZSH_FOLDER as string;
  await writeFile(join(folder, '_jqctl'), await scriptOf('zsh'));
  await writeFile(join(folder, 'setup'), ZSH_SETUP(folder));
  const script = `
    zmodload zsh/zpty
    zpty shell zsh -f -i
    zpty -w shell 'source ${folder}/setup'
    zpty -r -m shell seen '*readynow*'
    zpty -w -n shell $'${line}\\t'
    zpty -r -m shell seen '*<finished>*'
    print -r -- $seen`;
  const seen = (await lines('zsh', ['-f'], script, place)).join('\n');
  return [...new Set([...seen.matchAll(/<([^<>]+)>\r*$/gm)].map(([, reply]) => reply as string))].filter(
    (reply) => reply !== 'finished',
  );
}

/** Which flags a command has, by its help. */
async function flagsOf(command: string): Promise<string[]> {
  const { stdout } = await run([command, '--help']);
  const options = stdout.slice(stdout.indexOf('\nOptions\n'), stdout.indexOf('\nExit codes\n'));
  return [...options.matchAll(/^ {2}((?:-\w, )?--[\w-]+)/gm)].flatMap(([, names]) =>
    (names as string).split(', '),
  );
}

async function commands(): Promise<string[]> {
  const { stdout } = await run(['--help']);
  return [...stdout.matchAll(/^ {2}jqctl (\w+) {2}/gm)].map(([, name]) => name as string);
}

/** A real server with a job of two tasks and a worker. */
async function busyServer(t: TestContext, token?: string) {
  const server = await startTestServer(t, token === undefined ? {} : { token });
  const { worker_id } = await playWorker(server.client, 4, { name: 'lab' });
  const argv = ['submit', '-', '--server', server.url, ...(token === undefined ? [] : ['--token', token])];
  const job = (await run(argv, { stdin: jobOf('a.yaml', 'b.yaml') })).stdout.trim();
  const tasks = (await server.client.call('listJobTasks', { params: { id: job } })).map(({ id }) => id);
  return { server, job, tasks, worker_id };
}

/** How a script names a flag: with its dashes, only fish has words of its own. */
const named: Record<string, (flag: string) => RegExp> = {
  bash: (flag) => new RegExp(`[' ]${flag}[' ]`),
  zsh: (flag) => new RegExp(`['){,]${flag}[[},]`),
  fish: (flag) => new RegExp(flag.startsWith('--') ? ` -l ${flag.slice(2)} ` : ` -s ${flag.slice(1)} `),
};

/** The part of a script that is about one command, as far as it says so. */
function partOf(script: string, shell: string, command: string): string {
  if (shell === 'fish') {
    return script
      .split('\n')
      .filter((line) => new RegExp(`_subcommand_from ${command}(?:'|; and not)`).test(line))
      .join('\n');
  }
  const [, part = ''] = new RegExp(`^ {4}${command}\\)(.*?);;$`, 'ms').exec(script) ?? [];
  return part;
}

describe('the script of a completion, read without its shell,', () => {
  for (const [shell, pattern] of Object.entries(named)) {
    it(`names every command and each of its flags, for ${shell}`, async () => {
      const script = await scriptOf(shell);
      for (const command of await commands()) {
        const part = partOf(script, shell, command);
        const flags = await flagsOf(command);
        assert.ok(flags.includes('-h') && flags.includes('--help'), command);
        for (const flag of flags) assert.match(part, pattern(flag), `${command} ${flag}`);
      }
    });
  }
});

for (const [shell, complete] of [
  ['bash', bash],
  ['fish', fish],
  ['zsh', zsh],
] as const) {
  describe(`completion in ${shell}`, requires(shell), () => {
    const offers = async (t: TestContext, line: string, place: Place = {}) => {
      const env = { ...place.env, ...(shell === 'zsh' ? { ZSH_FOLDER: await temporaryDirectory(t) } : {}) };
      return (await complete(line, { ...place, env })).sort();
    };

    it('offers every command, and of a word the commands that begin with it', async (t) => {
      const offered = await offers(t, 'jqctl ');
      for (const command of await commands()) assert.ok(offered.includes(command), command);
      assert.deepEqual(await offers(t, 'jqctl stat'), ['stats', 'status']);
    });

    it('offers the flags of the command', async (t) => {
      for (const command of shell === 'bash' ? await commands() : ['logs', 'jobs']) {
        const long = (flags: string[]) => flags.filter((flag) => flag.startsWith('--')).sort();
        assert.deepEqual(long(await offers(t, `jqctl ${command} --`)), long(await flagsOf(command)), command);
      }
    });

    it('offers the values of a flag or an argument that has a fixed set', async (t) => {
      assert.deepEqual(await offers(t, 'jqctl jobs --status '), [...JOB_STATUSES].sort());
      assert.deepEqual(await offers(t, 'jqctl jobs --limit 5 --status ca'), ['cancelled', 'cancelling']);
      assert.deepEqual(await offers(t, 'jqctl machines '), [...MACHINE_NAMES].sort());
      assert.deepEqual(await offers(t, 'jqctl completion f'), ['fish']);
      assert.deepEqual(await offers(t, 'jqctl workers '), ['drain', 'remove', 'resume']);
    });

    it('offers files and directories where they are asked for', async (t) => {
      const cwd = await temporaryDirectory(t);
      await mkdir(join(cwd, 'a-folder'));
      await writeFile(join(cwd, 'a job.yaml'), '');
      const plainly = (offered: string[]) => offered.map((name) => name.replace(/\/$|\\/g, '')).sort();
      assert.deepEqual(plainly(await offers(t, 'jqctl submit a', { cwd })), ['a job.yaml', 'a-folder']);
      assert.deepEqual(plainly(await offers(t, 'jqctl artifacts job_1 --out a', { cwd })), ['a-folder']);
    });

    it('offers the jobs of the server, and workers and tasks where they are asked for', async (t) => {
      const { server, job, tasks, worker_id } = await busyServer(t);
      const env = { JQ_SERVER: server.url };
      assert.deepEqual(await offers(t, 'jqctl status ', { env }), [job, 'played']);
      assert.deepEqual(await offers(t, 'jqctl cancel job_', { env }), [job]);
      assert.deepEqual(await offers(t, 'jqctl wait pl', { env }), ['played']);
      for (const way of [job, 'played', job.slice(-8), '--last']) {
        assert.deepEqual(await offers(t, `jqctl logs ${way} --task `, { env }), [...tasks].sort(), way);
      }
      const two = ['lab', worker_id].sort();
      assert.deepEqual(await offers(t, 'jqctl workers drain ', { env }), two);
      assert.deepEqual(await offers(t, 'jqctl workers drain --ti'), ['--timeout']);
      assert.deepEqual(await offers(t, 'jqctl workers --ti'), []);
      assert.deepEqual(await offers(t, 'jqctl workers drain lab worker_', { env }), [worker_id]);
      assert.deepEqual(
        await offers(t, 'jqctl inspect --actor ', { env }),
        [job, 'lab', 'played', 'supervisor', worker_id].sort(),
      );
    });

    it('offers no job, and says nothing, when the server is away', async (t) => {
      assert.deepEqual(await offers(t, 'jqctl status ', { env: { JQ_SERVER: NOBODY } }), []);
    });
  });
}

describe('completion in bash, beyond words,', requires('bash'), () => {
  it('uses the server and the token that are given on the command line', async (t) => {
    const { server, job } = await busyServer(t, 's3cret');
    const env = { JQ_SERVER: NOBODY, JQ_TOKEN: 'wrong' };
    const both = ['played', job];
    assert.deepEqual(await bash(`jqctl status --server ${server.url} --token s3cret `, { env }), both);
    assert.deepEqual(await bash(`jqctl status --server=${server.url} --token=s3cret job`, { env }), [job]);
    assert.deepEqual(await bash(`jqctl status --server ${server.url} `, { env }), []);
    assert.deepEqual(
      await bash('jqctl status ', { env: { JQ_SERVER: server.url, JQ_TOKEN: 's3cret' } }),
      both,
    );
  });

  it('completes the value after an equals sign, and nothing after a complete argument', async () => {
    assert.deepEqual(await bash('jqctl jobs --status=qu'), ['queued']);
    assert.deepEqual(await bash('jqctl machines job '), []);
    assert.deepEqual(await bash('jqctl jobs --name '), []);
    assert.deepEqual(await bash('jqctl nothing '), []);
  });

  it('completes in the middle of a line what stands before the cursor', async () => {
    const script = `${await scriptOf('bash')}
      COMP_LINE='jqctl sta job_1' COMP_POINT=9 COMP_WORDS=(jqctl sta job_1)
      _jqctl; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const offered = await lines('bash', ['--norc', '--noprofile', '-s'], script);
    assert.deepEqual(offered.sort(), ['stats', 'status']);
  });

  it('runs nothing that a server puts into an id', async (t) => {
    const folder = await temporaryDirectory(t);
    const ids = ['job_1', `$(touch ${folder}/x)`, '`id`', 'a;b', 'a b', '../x/$HOME'];
    const server = await fakeServer({ 'GET /v1/jobs': { body: ids.map((id) => aJob({ id })) } });
    const env = { JQ_SERVER: server.url };
    assert.deepEqual(await bash('jqctl status ', { env }), ['job_1']);
    await server.stop();
    const names = await fakeServer({
      'GET /v1/jobs': { body: ids.map((name, i) => aJob({ id: `job_${i}`, name })) },
    });
    const offered = await bash('jqctl status ', { env: { JQ_SERVER: names.url } });
    assert.deepEqual(
      offered.filter((word) => !/^job_\d$/.test(word)),
      [],
      'nor into a name',
    );
    await names.stop();
  });
});

describe('the ids for a shell', () => {
  it('come with what they are, on lines that no name breaks', async () => {
    const name = 'a\tb\n\u001b[2Jc\u202e';
    const server = await fakeServer({
      'GET /v1/jobs': { body: [aJob({ name }), aJob({ id: 'job_2', status: 'queued' })] },
      'GET /v1/workers': { body: [{ id: 'worker_1', status: 'alive', name: 'lab' }] },
      'GET /v1/jobs/job_1/tasks': { body: [aTask()] },
    });
    const at = (kind: string, line = '') => idLines(kind, line, { JQ_SERVER: server.url });
    assert.equal(await at('jobs'), 'job_1\tsucceeded a b [2Jc\njob_2\tqueued\n');
    assert.match(
      await at('actors'),
      /^supervisor\tof the server\nlab\talive …worker_1\nworker_1\talive lab\njob_1\t/,
    );
    assert.equal(await at('tasks', 'jqctl logs job_1 --task '), 'task_1\tsucceeded pls × gasoline\n');
    assert.equal(await at('tasks', 'jqctl logs '), '');
    assert.equal(await at('nonsense'), '');
    await server.stop();
  });

  it('are names as well, as far as a name means one alone', async () => {
    const named = (id: string, name: string) => aJob({ id, name });
    const body = [named('job_1', 'corn'), named('job_2', 'Wheat'), named('job_3', 'wheat')];
    const server = await fakeServer({ 'GET /v1/jobs': { body } });
    const lines = (await idLines('jobs', '', { JQ_SERVER: server.url })).split('\n');
    assert.deepEqual(
      lines.map((line) => line.split('\t')[0]),
      ['corn', 'job_1', 'job_2', 'job_3', ''],
    );
    await server.stop();
  });

  it('are none when the server refuses, sends nonsense, breaks off or never answers', async () => {
    const server = await fakeServer({
      'GET /v1/jobs': { body: '<html>' },
      'GET /v1/workers': { status: 401, body: { detail: 'no', code: 'unauthenticated' } },
      'GET /v1/jobs/job_1/tasks': { body: '[{}]', end: 'cut' },
      'GET /v1/jobs/job_2/tasks': { body: '[{}]', end: 'never' },
    });
    for (const line of ['', 'job_1', 'job_2']) {
      for (const kind of ['jobs', 'actors', 'tasks']) {
        assert.equal(await idLines(kind, line, { JQ_SERVER: server.url }), '', `${kind} ${line}`);
      }
    }
    assert.equal(await idLines('jobs', 'jqctl --server nonsense', {}), '');
    await server.stop();
  });

  it('are printed by the program itself, quietly, whatever happens', async () => {
    const { outcome } = start('jqctl', ['complete', 'jobs', 'jqctl status '], { JQ_SERVER: NOBODY });
    assert.deepEqual(await outcome, { code: 0, signal: null, stdout: '', stderr: '' });
  });
});

describe('completion', () => {
  it('under --json is one document', async () => {
    const { code, stdout } = await run(['completion', 'zsh', '--json']);
    assert.equal(code, 0);
    assert.deepEqual(JSON.parse(stdout), { shell: 'zsh', script: await scriptOf('zsh') });
  });

  it('of an unknown shell: exit code 2', async () => {
    const { code, stderr } = await run(['completion', 'cmd']);
    assert.equal(code, 2);
    assert.match(stderr, /shell: 'cmd' is none of bash, zsh, fish/);
  });
});
