import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, lstatSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { ROOT } from '../cli/cli-support.ts';
import { clientOf } from '../support/client.ts';
import { quietPort } from '../support/program.ts';
import { requires } from '../support/requires.ts';
import { temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';

/** All below a folder, itself included, that group or others may do anything with: path and mode. */
function open(folder: string): string[] {
  try {
    const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
    return ['', ...names].flatMap((name) => {
      const { mode } = lstatSync(join(folder, name));
      return (mode & 0o077) === 0 ? [] : [`${name || '.'} ${(mode & 0o7777).toString(8)}`];
    });
  } catch (fault) {
    // A worker has tidied up below our feet.
    if ((fault as NodeJS.ErrnoException).code === 'ENOENT') return open(folder);
    throw fault;
  }
}

/** A program under a umask; its log is kept. */
function under(t: TestContext, umask: string, program: string, argv: string[]) {
  const line = `umask ${umask}; exec bin/${program} "$@"`;
  const child = spawn('sh', ['-c', line, 'sh', ...argv], { cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] });
  const said = { text: '' };
  child.stderr.on('data', (chunk) => {
    said.text += chunk;
  });
  t.after(() => child.kill('SIGKILL'));
  const stop = async () => {
    child.kill('SIGTERM');
    await once(child, 'exit');
  };
  return { said, stop };
}

/** A server under a umask on a state directory, once it listens. */
async function serve(t: TestContext, state: string, umask: string, flags: string[] = []) {
  const port = await quietPort();
  const url = `http://127.0.0.1:${port}`;
  const program = under(t, umask, 'jq-server', ['--state', state, '--port', String(port), ...flags]);
  const isUp = () =>
    fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    );
  await until('the server', isUp);
  return { ...program, url };
}

/** Leaves files in its directories, says so in the file that the job names, and goes on until that has gone. */
const RUNNER = `
mkdir "$4/made"; echo x > "$4/made/file"; echo x > "$6/best_model.txt"
touch "$0.busy"; while [ -e "$0.busy" ]; do sleep 0.05; done
echo '{"status":"succeeded","metrics":{"best_rmse":0.1}}' > "$8"
`;

describe('the state directories of the server and of a worker', requires('file modes'), () => {
  for (const umask of ['000', '027']) {
    it(`are accessible to their user alone, with all that lies in them, under umask ${umask}`, async (t) => {
      const folder = await temporaryDirectory(t);
      const [server, worker, script, log] = ['server', 'worker', 'run.sh', 'logs/worker.log'].map((name) =>
        join(folder, name),
      ) as [string, string, string, string];
      writeFileSync(script, RUNNER);
      const { url, stop } = await serve(t, server, umask);
      const flags = ['--server', url, '--state', worker, '--runner', `own=sh ${script}`, '--log-file', log];
      const program = under(t, umask, 'jq-worker', flags);
      const client = clientOf(t, url);
      const text = JSON.stringify({
        type: 'own.run',
        pipeline: { kind: 'inline_json', inline: [] },
        dataset: { kind: 'shared_path', path: folder },
        outputs: { keep_task_workspace: true },
      });
      const { id } = await client.call('submitJob', { text });
      await until('the task', () => readdirSync(folder).includes('run.sh.busy'));
      assert.ok(readdirSync(worker, { recursive: true }).some((path) => String(path).endsWith('made/file')));
      assert.deepEqual(
        [open(server), open(worker), open(join(folder, 'logs'))],
        [[], [], []],
        'while it runs',
      );
      rmSync(`${script}.busy`);
      await until(
        'its end',
        async () => (await client.call('getJob', { params: { id } })).status === 'succeeded',
      );
      const names = (await client.call('listJobArtifacts', { params: { id } })).map(({ role }) => role);
      assert.deepEqual([...new Set(names)].sort(), ['best_model', 'logs', 'model', 'workspace']);
      assert.deepEqual([open(server), open(worker)], [[], []], 'with artifacts');
      await program.stop();
      await stop();
      assert.deepEqual([open(server), open(worker)], [[], []], 'afterwards');
    });
  }

  it('that an earlier version left open are closed at the next start, which says so', async (t) => {
    const state = join(await temporaryDirectory(t), 'state');
    const first = await serve(t, state, '022');
    await first.stop();
    const { said: before } = first;
    assert.doesNotMatch(before.text, /open to others/);
    for (const name of ['', 'store.sqlite', 'objects', 'lock.sqlite']) chmodSync(join(state, name), 0o755);
    const { said, stop } = await serve(t, state, '022');
    assert.match(said.text, /"closed":\[[^\]]*"store\.sqlite"[^\]]*"\."\].*was open to others/);
    assert.deepEqual(open(state), []);
    await stop();
  });

  it('that also hold what is not theirs are left as they are, with a warning that names the mode', async (t) => {
    const state = join(await temporaryDirectory(t), 'state');
    mkdirSync(state);
    writeFileSync(join(state, 'thesis.txt'), '', { mode: 0o644 });
    chmodSync(state, 0o755);
    const { said, stop } = await serve(t, state, '022');
    assert.match(said.text, /the state directory is open to others \(0755\): chmod 700/);
    assert.deepEqual(open(state), ['. 755', 'thesis.txt 644']);
    await stop();
  });
});

describe('an auth file', requires('file modes'), () => {
  for (const [mode, warning] of [
    [0o644, /others can read the auth file \(mode 0644\): chmod 600/],
    [0o640, /others can read the auth file \(mode 0640\)/],
    [0o600, null],
  ] as const) {
    it(`of mode ${mode.toString(8)} ${warning === null ? 'draws no warning' : 'draws a warning that names it'}`, async (t) => {
      const folder = await temporaryDirectory(t);
      const file = join(folder, 'auth.yaml');
      writeFileSync(file, '- {name: ann, roles: [viewer], token: first}\n');
      chmodSync(file, mode);
      const { said, stop } = await serve(t, join(folder, 'state'), '022', ['--auth-file', file]);
      await stop();
      if (warning === null) assert.doesNotMatch(said.text, /auth file/);
      else assert.match(said.text, warning);
    });
  }
});
