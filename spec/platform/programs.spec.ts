import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { withoutToken } from '../../actors/worker/environment.ts';
import { serveUntilSignal } from '../../bin/cli/serve.ts';
import type { Output } from '../../bin/terminal/output.ts';
import { heard } from '../support/heard.ts';
import { installation } from '../support/installation.ts';
import { until } from '../support/until.ts';

describe('the programs', () => {
  it('run from a folder whose name holds spaces, percent signs and other letters', async (t) => {
    const home = await installation(t, { name: 'my programs 100%25 ü#' });
    const run = (program: string, args: string[]) => {
      const child = spawn(process.execPath, [join(home, 'bin', program), ...args], { cwd: home });
      t.after(() => child.kill('SIGKILL'));
      return heard(child);
    };
    const quiet = ['--log-level', 'error', '--json'];
    const server = run('jq-server', ['--port', '0', '--state', join(home, 's'), ...quiet]);
    const url = await until('the server', () => {
      assert.equal(server.child.exitCode, null, server.said.stderr);
      return /"url":"([^"]+)"/.exec(server.said.stdout)?.[1];
    });
    assert.equal((await fetch(`${url}/ui`)).status, 200);
    run('jq-worker', ['--server', url, '--state', join(home, 'w'), ...quiet]);
    const job = ['run', '--lib', 'mljs', '--pipeline', 'examples/pipelines/pls.yaml', '--dataset'];
    const submitted = run('jqctl', [...job, 'examples/gasoline', '--upload', '--wait', '--server', url]);
    assert.equal((await submitted.outcome).code, 0, submitted.said.stderr);
    server.child.kill('SIGTERM');
    assert.equal((await server.outcome).code, 0, server.said.stderr);
  });
});

/** A program under way that counts what it is told; ended by `stop`. */
function serve(platform: NodeJS.Platform) {
  const told: string[] = [];
  const running = { stop: async () => void told.push('stop'), reload: async () => void told.push('reload') };
  const output = { json: false, note: () => {}, warn: () => {} } as unknown as Output;
  const ended = new Promise<void>((resolve) => {
    void serveUntilSignal(running, output, resolve, platform).then(() => told.push('ended'));
  });
  return { told, ready: ended };
}

describe('SIGHUP', () => {
  it('reads the auth file again, but ends the program on Windows, where it means that the window closes', async () => {
    const [here, there] = [serve('linux'), serve('win32')];
    await Promise.all([here.ready, there.ready]);
    process.emit('SIGHUP', 'SIGHUP');
    await until('the end of one', () => there.told.includes('ended'));
    assert.deepEqual([here.told, there.told], [['reload'], ['stop', 'ended']]);
    process.emit('SIGTERM', 'SIGTERM');
    await until('the end of the other', () => here.told.includes('ended'));
  });
});

describe('the environment of what a worker starts', () => {
  it('is that of the worker without the credential, however Windows writes the name of the variable', () => {
    const env = { Path: 'C:\\', JQ_TOKEN: 's', jq_token: 's', Jq_Token: 's', JQ_TOKEN_FILE: 'f' };
    assert.deepEqual(withoutToken(env), { Path: 'C:\\', JQ_TOKEN_FILE: 'f' });
  });
});
