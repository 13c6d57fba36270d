import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { asking } from '../support/asking.ts';
import { cleanEnvironment } from '../support/environment.ts';
import { ROOT } from '../support/program.ts';
import { onPath } from '../support/requires.ts';
import { temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';

const NEEDY = 'spec/design/fixtures/needy.ts';
/** The only places that leave specifications out. */
const MAY_LEAVE_OUT = /^spec\/(support\/|(nirs4all|python)\/python\.ts|design\/)/;

/** `npm test` with these arguments, on a path that holds Node, a shell and what is named. */
async function npmTest(t: TestContext, argv: string[], shells: string[], env: Record<string, string> = {}) {
  const path = join(await temporaryDirectory(t), 'bin');
  await mkdir(path);
  for (const name of ['sh', 'env']) await symlink(onPath(name) ?? '', join(path, name));
  for (const name of shells) await writeFile(join(path, name), '', { mode: 0o755 });
  return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const command = ['--import', 'tsx', 'spec/run.ts', ...argv];
    const options = { cwd: ROOT, env: { ...env, PATH: path } };
    const child = execFile(process.execPath, command, options, (_, stdout, stderr) =>
      resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    );
  });
}

describe('a specification whose needs are not met', () => {
  it('is named by the last lines of the run, with what is missing, and so is a group of them', async (t) => {
    const { code, stdout } = await npmTest(t, [NEEDY], ['bash']);
    assert.equal(code, 0);
    assert.match(stdout, /^# duration_ms [\d.]+\n# left out: 2 specifications, or groups of them\n/m);
    assert.match(
      stdout,
      /^# +1: needs zsh: there is no zsh on the path .*\n# .*needy\.ts: a group for zsh$/m,
    );
    assert.match(stdout, /^# +1: needs fish: .*\n# .*needy\.ts: one for fish$/m);
  });

  it('fails the run where none may be left out', async (t) => {
    const { code, stdout } = await npmTest(t, ['--all', NEEDY], ['bash']);
    assert.equal(code, 1);
    assert.match(stdout, /# 2 of these had to run here\n$/);
  });

  it('runs where its needs are met, which the last line says', async (t) => {
    const { code, stdout } = await npmTest(t, ['--all', NEEDY], ['bash', 'zsh', 'fish']);
    assert.equal(code, 0);
    assert.match(stdout, /\n# left out: nothing\n$/);
  });

  it('is left out in no other way', async (t) => {
    const { code, stdout } = await npmTest(t, [NEEDY], ['bash', 'zsh', 'fish'], {
      CHROMIUM_PATH: 'forgetful',
    });
    assert.equal(code, 1);
    assert.match(
      stdout,
      /# +1: without a reason\n# .*: one that somebody forgot\n# 1 of these had to run here\n$/,
    );
    // By any of these a specification asks by itself what is installed, or is left out without a word.
    const silent = /\bskip:|\.skip\(|\btodo:|\.todo\(|--version'\]\)|\.env\.CI\b|'which'|command -v/;
    const files = readdirSync(join(ROOT, 'spec'), { recursive: true, encoding: 'utf8' }).map(
      (f) => `spec/${f}`,
    );
    const sources = files.filter((file) => /^(?!.*node_modules).*\.spec\.ts$|support\.ts$/.test(file));
    assert.ok(sources.length > 100);
    const asking = sources.filter(
      (file) => !MAY_LEAVE_OUT.test(file) && silent.test(readFileSync(join(ROOT, file), 'utf8')),
    );
    assert.deepEqual(asking, []);
  });
});

describe('a specification that does not hold', () => {
  it('is named after everything else, with its file and the first line of why, and its group is not', async (t) => {
    const { code, stdout } = await npmTest(t, ['spec/design/fixtures/failing.ts'], []);
    assert.equal(code, 1);
    assert.match(
      stdout,
      /\n# failed: 1\n# {3}spec\/design\/fixtures\/failing\.ts: whose member does not hold\n# {5}this is not so\n# left out: nothing\n$/,
    );
  });
});

describe('a file that is to be run and is not there', () => {
  it('is named, and nothing else is printed', async (t) => {
    const { code, stderr } = await npmTest(t, ['spec/design/nothing.spec.ts'], []);
    assert.equal(code, 1);
    assert.match(stderr, /^Could not find '.*spec\/design\/nothing\.spec\.ts'\s*$/);
  });
});

describe('the environment of a run', () => {
  const odd = {
    HOME: '/home/somebody',
    LANG: 'C',
    LC_ALL: 'de_DE.UTF-8',
    TZ: 'Asia/Kolkata',
    http_proxy: 'http://127.0.0.1:9',
    HTTPS_PROXY: 'http://127.0.0.1:9',
    JQ_SERVER: 'http://queue.example',
    JQ_TOKEN: 'secret',
    JQ_DEBUG: '1',
    CI: 'true',
    NODE_OPTIONS: '--no-warnings',
    NO_COLOR: '1',
    FORCE_COLOR: '1',
    npm_config_loglevel: 'silly',
  };

  it('reaches no specification: a language, a time zone, proxies, the address of a server, options of Node', async (t) => {
    const { stdout } = await npmTest(t, [NEEDY], [], odd);
    const { PATH, TMPDIR, HOME, ...told } = JSON.parse(/told (\{.*\})/.exec(stdout)?.[1] ?? '{}');
    assert.notEqual(HOME, odd.HOME);
    const { USERPROFILE, ...rest } = told;
    assert.equal(USERPROFILE, HOME);
    assert.deepEqual(rest, { LANG: 'C.UTF-8', TZ: 'UTC', TERM: 'dumb', umask: 0o022, time: 0 });
  });

  it('reaches them only as the path, and as the variables that name needed programs', () => {
    const named = { PATH: '/bin', JQ_TEST_PYTHON: '/py', CHROMIUM_PATH: '/chromium' };
    assert.deepEqual(cleanEnvironment({ ...odd, ...named }, '/home/empty'), {
      ...{ LANG: 'C.UTF-8', TZ: 'UTC', TERM: 'dumb', HOME: '/home/empty', USERPROFILE: '/home/empty' },
      ...named,
    });
  });
});

describe('what runs once more on a path without optional programs', () => {
  it('is every file that asks for what may be installed, and none that asks only about the system', () => {
    const files = asking();
    for (const name of [
      'cli/completion',
      'worker/process-tree',
      'dashboard/jobs',
      'nirs4all/parity',
      'scarcity/disk',
    ])
      assert.ok(files.includes(`spec/${name}.spec.ts`), name);
    for (const name of ['cli/lost-output', 'process/modes', 'store/directories'])
      assert.ok(!files.includes(`spec/${name}.spec.ts`), name);
  });
});

describe('a specification that waits', () => {
  it('fails in time, also when the condition that it checks never answers at all', async () => {
    for (const look of [() => false, () => new Promise<boolean>(() => {})]) {
      await assert.rejects(until('an answer', look, 0.05), /^Error: waited 0.05 s for an answer$/);
    }
  });
});
