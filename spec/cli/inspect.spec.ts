import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { createWebSocketReceiver, type StatelyInspectionEvent } from '@statelyai/inspect';
import { request } from 'undici';
import WebSocket from 'ws';
import { startInspectorRelay } from '../../bin/cli/inspector-relay.ts';
import { gatewayFor } from '../gateway/support.ts';
import { startTestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { run, start } from './cli-support.ts';
import { jobOf } from './played-worker.ts';
import { restarted, scene } from './scene.ts';

const principals = ['vic:v-token:viewer,submitter', 'ada:a-token:admin'];
const STATELY = 'https://stately.ai/inspect';

/** A process of its own, gone at the end of the test whatever happens. */
function inspecting(t: TestContext, argv: string[], env?: Record<string, string>) {
  const started = start('jqctl', ['inspect', ...argv], env);
  t.after(() => started.child.kill('SIGKILL'));
  return started;
}

async function relayFor(t: TestContext, port = 0) {
  const pages: number[] = [];
  const onPages = (open: number) => pages.push(open);
  const relay = await startInspectorRelay({ port, page: STATELY, openBrowser: false, onPages });
  t.after(() => relay.stop());
  return { relay, pages, port: Number(new URL(relay.url).port) };
}

describe('inspect --json', () => {
  it('prints the messages of the server as they are, one a line, until it is interrupted', async (t) => {
    const server = await startTestServer(t, { principals });
    const argv = ['--json', '--server', server.url];
    const { child, said, outcome } = inspecting(t, argv, { JQ_TOKEN: 'a-token' });
    await until('the supervisor', () => said.stdout.includes('"name":"supervisor"'));
    const submitted = await run(['submit', '-', '--server', server.url, '--token', 'v-token'], {
      stdin: jobOf('a.yaml'),
    });
    const id = submitted.stdout.trim();
    await until('the job', () => said.stdout.includes(`"name":"${id}"`));
    child.kill('SIGINT');
    const { code, stdout, stderr } = await outcome;
    assert.deepEqual([code, stderr], [130, '']);
    const messages = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as StatelyInspectionEvent);
    assert.deepEqual(
      messages.map(({ type, sessionId }) => [type, sessionId]),
      [
        ['@xstate.actor', 'supervisor'],
        ['@xstate.actor', id],
      ],
    );
  });

  it('of one actor begins with its state, and goes on over a restart of the server', async (t) => {
    const { server: first, env, submit } = await scene(t);
    const id = await submit('a.yaml');
    const { child, said, outcome } = inspecting(t, ['--json', '--actor', id], env);
    await until('the job', () => said.stdout.includes('"value":{"queued":"ready"}'));
    const second = await restarted(t, first, said);
    await until('the job anew', () => said.stdout.trimEnd().split('\n').length === 2);
    await second.client.call('cancelJob', { params: { id } });
    await until('the cancellation', () => said.stdout.includes('"value":"cancelled"'));
    child.kill('SIGTERM');
    assert.equal((await outcome).code, 143);
    assert.ok(said.stdout.split('\n').every((line) => line === '' || JSON.parse(line).sessionId === id));
  });
});

describe('inspect ends', () => {
  it('with 3 without the right, and starts no relay', async (t) => {
    const server = await startTestServer(t, { principals });
    for (const token of ['v-token', 'wrong']) {
      const { code, stdout, stderr } = await run(['inspect', '--server', server.url, '--token', token]);
      assert.deepEqual([code, stdout], [3, '']);
      assert.match(stderr, token === 'wrong' ? /credential is unknown/ : /lacks required right\(s\): admin/);
      assert.doesNotMatch(stderr, /inspector of/);
    }
  });

  it('with 2 when there is no such actor', async (t) => {
    const server = await startTestServer(t);
    const { code, stderr } = await run(['inspect', '--actor', 'job_nobody', '--server', server.url]);
    assert.equal(code, 2);
    assert.match(stderr, /job_nobody/);
  });

  it('with 2 when the port is in use', async (t) => {
    const server = await startTestServer(t);
    const { code, stderr } = await run(['inspect', '--port', String(server.port), '--server', server.url]);
    assert.equal(code, 2);
    assert.match(stderr, new RegExp(`cannot listen on port ${server.port}: it is in use`));
    assert.match(stderr, /--port/);
  });

  it('with 2 when the page is no address', async () => {
    const { code, stderr } = await run(['inspect', '--page', 'javascript:alert(1)']);
    assert.equal(code, 2);
    assert.match(stderr, /--page: 'javascript:alert\(1\)' is not an http address/);
  });
});

describe('inspect', () => {
  it("feeds Stately's relay as long as a page is open there, and says that the page needs internet", async (t) => {
    await using gateway = await gatewayFor();
    const { inspection } = gateway.cluster;
    const actor = { type: '@xstate.actor', sessionId: 'job_1', _version: '0', name: 'job_1' };
    inspection.present = [{ actorId: 'job_1', text: JSON.stringify(actor) }];
    const { child, said, outcome } = inspecting(t, ['--port', '0', '--server', gateway.url]);
    await until('the relay', () => /Ctrl-C ends/.test(said.stderr));
    assert.match(said.stderr, /the browser needs internet for it: the inspector is a page of stately\.ai/);
    const [url = ''] = /http:\/\/localhost:\d+\//.exec(said.stderr) ?? [];
    await until('that nobody watches', () => inspection.watchers.size === 0);

    const seen: StatelyInspectionEvent[] = [];
    const receiver = createWebSocketReceiver({ server: url.replace('http', 'ws') });
    receiver.subscribe((event) => seen.push(event));
    await until('the actor', () => seen.length === 1);
    const event = { type: '@xstate.event', sessionId: 'job_1', event: { type: 'CANCEL' } };
    inspection.tell({ actorId: 'job_1', text: JSON.stringify(event) });
    await until('the event', () => seen.length === 2);
    assert.deepEqual(seen, [actor, event]);

    const page = new WebSocket(url.replace('http', 'ws'), { origin: url.slice(0, -1) });
    const told: string[] = [];
    page.on('message', (frame) => told.push(String(frame)));
    await until('all of it, and the actors as they are now', () => told.length === 3);
    assert.deepEqual(
      told.map((text) => JSON.parse(text)),
      [actor, event, actor],
    );

    child.kill('SIGINT');
    assert.equal((await outcome).code, 130, 'it ends though pages are open');
    await until('the end of the watch', () => inspection.watchers.size === 0);
  });

  it('stops watching when the last page has gone', async (t) => {
    await using gateway = await gatewayFor();
    const { inspection } = gateway.cluster;
    const { watchers } = inspection;
    inspection.present = [{ actorId: 'job_1', text: '{}' }];
    const argv = ['--port', '0', '--page', 'http://lab.example/', '--server', gateway.url];
    const { child, said, outcome } = inspecting(t, argv);
    await until('the relay', () => /Ctrl-C ends/.test(said.stderr));
    assert.match(said.stderr, /it shows the page http:\/\/lab\.example\//);
    assert.doesNotMatch(said.stderr, /internet/);
    const [url = ''] = /http:\/\/localhost:\d+\//.exec(said.stderr) ?? [];
    for (let i = 0; i < 2; i++) {
      const page = new WebSocket(url.replace('http', 'ws'));
      await once(page, 'open');
      await until('a watcher', () => watchers.size === 1);
      page.close();
      await until('that nobody watches', () => watchers.size === 0);
    }
    child.kill('SIGINT');
    await outcome;
  });
});

describe('the relay', () => {
  it('serves the page with the inspector in it', async (t) => {
    const { relay } = await relayFor(t);
    const { statusCode, body } = await request(relay.url);
    assert.equal(statusCode, 200);
    assert.match(await body.text(), /<iframe id="inspector" src="https:\/\/stately\.ai\/inspect">/);
  });

  it('accepts its own page and programs of this machine, and no page of another origin', async (t) => {
    const { relay, port, pages } = await relayFor(t);
    const address = relay.url.replace('http', 'ws');
    for (const origin of [`http://localhost:${port}`, `http://127.0.0.1:${port}`, undefined]) {
      const page = new WebSocket(address, origin === undefined ? {} : { origin });
      await once(page, 'open');
    }
    assert.deepEqual(pages, [1, 2, 3]);
    for (const origin of ['http://evil.example', 'null', `https://localhost:${port}`, 'http://localhost:1']) {
      const page = new WebSocket(address, { origin });
      const [fault] = await once(page, 'error');
      assert.match(fault.message, /403/, origin);
    }
    assert.equal(pages.length, 3);
  });

  it('listens on the loopback address alone', async (t) => {
    const { port } = await relayFor(t);
    // Another address of the same interface: open only to a server that listens on all of them.
    const socket = connect(port, '127.0.0.2');
    const [fault] = await once(socket, 'error');
    assert.equal(fault.code, 'ECONNREFUSED');
  });

  it('passes what is sent to every page, also to one that connects later', async (t) => {
    const { relay } = await relayFor(t);
    await relay.send('{"a":1}');
    const page = new WebSocket(relay.url.replace('http', 'ws'));
    const [early] = await once(page, 'message');
    assert.equal(String(early), '{"a":1}');
    const next = once(page, 'message');
    await relay.send('{"b":2}');
    assert.equal(String((await next)[0]), '{"b":2}');
  });

  it('stops although pages are open, also when asked twice, and frees its port', async (t) => {
    const { relay, port } = await relayFor(t);
    const page = new WebSocket(relay.url.replace('http', 'ws'));
    page.on('error', () => {});
    await once(page, 'open');
    const closed = once(page, 'close');
    await Promise.all([relay.stop(), relay.stop()]);
    await closed;
    const again = createServer().listen(port, '127.0.0.1');
    await once(again, 'listening');
    assert.equal((again.address() as AddressInfo).port, port);
    again.close();
  });
});
