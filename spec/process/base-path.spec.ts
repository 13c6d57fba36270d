import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { Program, ROOT } from '../support/program.ts';
import { reverseProxy } from '../support/reverse-proxy.ts';
import { temporaryDirectory } from '../support/server.ts';

const program = (name: string, ...args: string[]) =>
  new Program(process.execPath, [`${ROOT}bin/${name}`, ...args]);

for (const strips of [true, false]) {
  it(`programs find a server below a path of a proxy that ${strips ? 'strips' : 'keeps'} it`, async (t) => {
    const state = await temporaryDirectory(t);
    const server = program(
      'jq-server',
      ...['--port', '0', '--base-path', '/jq', '--token', 'secret', '--json', '--log-level', 'error'],
      ...['--state', join(state, 'server')],
    );
    t.after(() => server.kill());
    const { url } = (await server.announced('listening')) as { url: string };
    assert.match(url, /\/jq$/);
    const proxied = await reverseProxy(t, url.replace(/\/jq$/, ''), { path: '/jq', strips, renames: true });
    const there = ['--server', `${proxied}/`, '--token', 'secret'];
    const worker = program(
      'jq-worker',
      ...[...there, '--state', join(state, 'worker'), '--runner', 'demo=/bin/sh -c "exit 3"'],
      ...['--json', '--log-level', 'error'],
    );
    t.after(() => worker.kill());
    assert.equal((await worker.announced('started')).server, proxied);
    const job = program(
      'jqctl',
      ...['run', '--lib', 'mljs', '--pipeline', 'examples/pipelines/pls.yaml'],
      ...['--dataset', 'examples/gasoline', '--upload', '--wait', '--json', ...there],
    );
    assert.equal((await job.ended).code, 0, job.stderr);
    const { id, status } = JSON.parse(job.stdout);
    assert.equal(status, 'succeeded');
    const artifacts = program('jqctl', 'artifacts', id, '--out', join(state, 'out'), ...there);
    assert.equal((await artifacts.ended).code, 0, artifacts.stderr);
    assert.match(artifacts.stdout, /saved best_model\.json/);
    const logs = program('jqctl', 'logs', id, '--follow', ...there);
    assert.equal((await logs.ended).code, 0, logs.stderr);
    assert.match(logs.stdout, /job .* succeeded/);
  });
}
