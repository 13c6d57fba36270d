import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { Program, ROOT } from '../support/program.ts';
import { requires } from '../support/requires.ts';
import { temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';

const run = promisify(execFile);
const UNITS = join(ROOT, 'examples/operations/systemd');
/** Where the units look for the programs. */
const INSTALLED = '/opt/jq-cluster/node_modules/.bin/';

/** What systemd does with its socket, but for the rest of it: writes a line for each thing that it is told. */
const MANAGER = `
import socket, sys
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(sys.argv[1])
print('listening', flush=True)
while True:
    print(manager.recv(4096).decode().strip(), flush=True)
`;

/** A service manager to be told. */
async function startManager(t: TestContext) {
  const socket = join(await temporaryDirectory(t), 'notify');
  const manager = new Program('python3', ['-c', MANAGER, socket]);
  t.after(() => manager.kill());
  await until('the manager', () => manager.stdout.includes('listening'));
  /** The states of programs, in order; programs of systemd add what is for systemd alone. */
  const told = () => manager.stdout.split('\n').filter((line) => /^(READY|STOPPING)=/.test(line));
  return { socket, told };
}

async function startServer(t: TestContext, env: Record<string, string>) {
  const state = join(await temporaryDirectory(t), 'state');
  const flags = ['--port', '0', '--state', state, '--log-level', 'error', '--json'];
  const server = new Program(join(ROOT, 'bin/jq-server'), flags, env);
  t.after(() => server.kill());
  const { url } = await server.announced('listening');
  return { server, url: url as string };
}

describe('programs as services of systemd', () => {
  it('tell that they are ready and that they stop', requires('systemd-notify', 'python3'), async (t) => {
    const [one, other] = [await startManager(t), await startManager(t)];
    const { server, url } = await startServer(t, { NOTIFY_SOCKET: one.socket });
    await until('READY', () => one.told().length > 0);
    assert.equal((await fetch(`${url}/readyz`)).status, 200);

    const flags = ['--server', url, '--state', join(await temporaryDirectory(t), 'state'), '--json'];
    const worker = new Program(join(ROOT, 'bin/jq-worker'), flags, { NOTIFY_SOCKET: other.socket });
    t.after(() => worker.kill());
    await until('READY', () => other.told().length > 0, 60);
    for (const [program, { told }] of [[worker, other] as const, [server, one] as const]) {
      program.child.kill('SIGTERM');
      assert.deepEqual(await program.ended, { code: 0, signal: null });
      await until('STOPPING', () => told().length > 1);
      assert.deepEqual(told(), ['READY=1', 'STOPPING=1']);
    }
  });

  it('keep its socket from what they start', requires('systemd-notify', 'python3'), async (t) => {
    const { socket, told } = await startManager(t);
    const { url } = await startServer(t, {});
    const folder = await temporaryDirectory(t);
    const runner = join(folder, 'runner.sh');
    const seen = join(folder, 'seen');
    await writeFile(runner, `#!/bin/sh\necho "socket: $NOTIFY_SOCKET" > ${seen}\nexit 1\n`, { mode: 0o755 });
    const flags = ['--server', url, '--state', join(folder, 'state'), '--runner', `seen=${runner}`, '--json'];
    const worker = new Program(join(ROOT, 'bin/jq-worker'), flags, { NOTIFY_SOCKET: socket });
    t.after(() => worker.kill());
    await until('READY', () => told().length > 0, 60);
    const body = {
      type: 'seen.run',
      pipeline: { kind: 'inline_json', inline: {} },
      dataset: { kind: 'shared_path', path: folder },
    };
    const headers = { 'content-type': 'application/json' };
    await fetch(`${url}/v1/jobs`, { method: 'POST', headers, body: JSON.stringify(body) });
    const text = await until(
      'the task',
      () =>
        readFile(seen, 'utf8').then(
          (said) => said || null,
          () => null,
        ),
      60,
    );
    assert.equal(text, 'socket: \n');
  });

  it('warn where systemd cannot be told, and serve on', async (t) => {
    const path = join(await temporaryDirectory(t), 'bin');
    await mkdir(path);
    await symlink(process.execPath, join(path, 'node'));
    const { server, url } = await startServer(t, { NOTIFY_SOCKET: '/run/none', PATH: path });
    await until('a warning', () => /systemd cannot be told READY=1: .*ENOENT/.test(server.stderr));
    assert.equal((await fetch(`${url}/readyz`)).status, 200);
  });
});

/** The units, with the programs where they are here. @returns their paths */
async function unitsHere(t: TestContext): Promise<string[]> {
  const folder = await temporaryDirectory(t);
  const names = (await readdir(UNITS)).filter((name) => name.endsWith('.service'));
  return Promise.all(
    names.map(async (name) => {
      const text = await readFile(join(UNITS, name), 'utf8');
      assert.ok(text.includes(INSTALLED), name);
      await writeFile(join(folder, name), text.replaceAll(INSTALLED, join(ROOT, 'bin/')));
      return join(folder, name);
    }),
  );
}

describe('the units of systemd', requires('systemd-analyze'), () => {
  it('say nothing that systemd does not understand', async (t) => {
    const units = await unitsHere(t);
    assert.equal(units.length, 2);
    const said = await run('systemd-analyze', ['verify', ...units]);
    assert.deepEqual([said.stdout, said.stderr], ['', '']);
    // What it would say otherwise.
    const broken = join(dirname(units[0] as string), 'broken.service');
    await writeFile(broken, (await readFile(units[0] as string, 'utf8')).replace('UMask', 'UMsk'));
    const { stderr } = await run('systemd-analyze', ['verify', broken]).catch((error) => error);
    assert.match(stderr, /Unknown key .*'UMsk'/);
  });

  for (const [unit, most] of Object.entries({ 'jq-server': 15, 'jq-worker': 25 })) {
    it(`expose little: ${unit} at most ${most} of 100`, async (t) => {
      const path = (await unitsHere(t)).find((one) => one.includes(unit)) as string;
      await run('systemd-analyze', ['security', '--offline=true', `--threshold=${most}`, path]);
    });
  }

  it('set no option that the programs do not have', async (t) => {
    for (const path of await unitsHere(t)) {
      const [, command = ''] = /^ExecStart=(\S+)/m.exec(await readFile(path, 'utf8')) ?? [];
      const { stdout } = await run(process.execPath, [command, '--help']);
      const flags = (await readFile(path, 'utf8')).match(/(?<=[ =])--[a-z-]+/g) ?? [];
      assert.ok(flags.length > 0);
      for (const flag of flags) assert.match(stdout, new RegExp(`${flag}\\b`));
    }
  });
});
