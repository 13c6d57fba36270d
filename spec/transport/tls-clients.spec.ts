import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { UntrustedError, unreachable } from '../../gateway/client/errors.ts';
import { chooseTransport } from '../../gateway/transport/choose.ts';
import { run, start } from '../cli/cli-support.ts';
import { Authority, install } from '../support/certificates.ts';
import { JOB } from '../support/job.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { secure } from './tls-support.ts';

const { transport: auto } = await chooseTransport('auto');

describe('a client of a server with TLS', requires('openssl'), () => {
  it('is jqctl and jq-worker with --ca or JQ_CA, streams included', async (t) => {
    const { server, authority, client } = await secure(t, auto.name);
    const { id } = await client.call('submitJob', { text: JSON.stringify(JOB) });
    const flags = ['--server', server.url, '--ca', authority.ca];
    assert.equal((await run(['stats', ...flags])).code, 0);
    const { code } = await run(['stats', '--server', server.url], { env: { JQ_CA: authority.ca } });
    assert.equal(code, 0);
    const follow = start('jqctl', ['events', '--follow', '--json', ...flags]);
    t.after(() => follow.child.kill('SIGKILL'));
    await until('the event of the job', () => follow.said.stdout.includes(id));
    const state = join(await temporaryDirectory(t), 'worker');
    const worker = start('jq-worker', [...flags, '--state', state, '--json', '--log-level', 'silent']);
    t.after(() => worker.child.kill('SIGKILL'));
    await until('the worker', async () => (await client.call('listWorkers')).length > 0);
  });

  it('says what is wrong with the certificate, and ends with exit code 4', async (t) => {
    const { server, authority } = await secure(t, auto.name);
    const stranger = await Authority.make(t);
    const folder = await temporaryDirectory(t);
    const by = (argv: string[]) => run([...argv, '--server', server.url]);
    const worker = ['worker', '--state', join(folder, 'w'), '--log-level', 'silent'];
    for (const argv of [['stats'], ['events', '--follow'], ['logs', 'job_1'], worker]) {
      for (const ca of [[], ['--ca', stranger.ca]]) {
        const { code, stdout, stderr } = await by([...argv, ...ca]);
        assert.deepEqual([code, stdout], [4, ''], stderr);
        assert.match(stderr, /is not trusted: its certificate (comes from an authority|was not signed by)/);
        assert.match(stderr, /--ca or JQ_CA/);
      }
    }
    const renamed = server.url.replace('127.0.0.1', 'localhost');
    const named = await authority.certify('elsewhere', 'DNS:elsewhere.lab');
    await install(named, server.config.tls as { cert: string; key: string });
    await server.reload();
    const { code, stderr } = await run(['stats', '--server', renamed, '--ca', authority.ca]);
    assert.equal(code, 4);
    assert.match(stderr, /is for another name \(it names DNS:elsewhere\.lab\)/);
  });

  it('is told when a server speaks the other of HTTP and HTTPS', async (t) => {
    const plain = await startTestServer(t);
    const { code, stderr } = await run(['stats', '--server', plain.url.replace('http', 'https')]);
    assert.equal(code, 4);
    assert.match(stderr, /it speaks no TLS there; did you mean http:\/\/\?/);
    const { server } = await secure(t, auto.name);
    const other = await run(['stats', '--server', server.url.replace('https', 'http')]);
    assert.equal(other.code, 4);
    assert.match(other.stderr, /cannot reach http:/);
  });

  it('is refused a file of certificates that holds none: it would trust nobody', async (t) => {
    const folder = await temporaryDirectory(t);
    const file = join(folder, 'ca.pem');
    const begin = '-----BEGIN CERTIFICATE-----';
    for (const text of ['', 'nothing', `${begin}\nAAAA\n${begin.replace('BEGIN', 'END')}\n`]) {
      await writeFile(file, text);
      const { code, stderr } = await run(['stats', '--ca', file]);
      assert.deepEqual([code, /--ca: .*ca\.pem holds no certificate in PEM/.test(stderr)], [2, true], stderr);
    }
    const missing = await run(['stats'], { env: { JQ_CA: join(folder, 'none') } });
    assert.match(missing.stderr, /JQ_CA: cannot read .*none \(ENOENT\)/);
  });

  it('takes a certificate out of its time for one that nobody can trust', () => {
    for (const code of ['CERT_HAS_EXPIRED', 'CERT_NOT_YET_VALID']) {
      const fault = unreachable('https://queue.lab', Object.assign(new Error('no'), { code }));
      assert.ok(fault instanceof UntrustedError);
      assert.match(fault.message, /the clock of this machine is wrong/);
    }
  });
});
