import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import WebSocket from 'ws';
import { StartError } from '../../machines/protocol/start-error.ts';
import { type ProxyOptions, reverseProxy } from '../support/reverse-proxy.ts';
import { startTestServer } from '../support/server.ts';
import { Foreigner } from './foreign.ts';

const TOKEN = 'secret';

async function behind(t: TestContext, options: Partial<ProxyOptions> = {}) {
  const server = await startTestServer(t, { token: TOKEN, basePath: '/lab/jq/' });
  const proxied = await reverseProxy(t, server.url.replace(/\/lab\/jq$/, ''), {
    path: '/lab/jq',
    strips: false,
    ...options,
  });
  return { server, proxied, client: new Foreigner(proxied, TOKEN) };
}

/** The first frame of a stream, or the status of its refusal. */
function firstFrame(url: string, origin?: string): Promise<string> {
  const socket = new WebSocket(url.replace(/^http/, 'ws'), origin === undefined ? {} : { origin });
  return new Promise<string>((resolve, reject) => {
    socket.on('message', (frame) => resolve(String(frame)));
    socket.on('unexpected-response', (_request, answer) => resolve(String(answer.statusCode)));
    socket.on('error', reject);
  }).finally(() => socket.terminate());
}

for (const strips of [false, true]) {
  describe(`behind a proxy that ${strips ? 'strips' : 'keeps'} the path, a server with a base path`, () => {
    it('serves REST, uploads, downloads and refusals', async (t) => {
      const { client } = await behind(t, { strips });
      assert.equal((await client.get('GET /')).ok, true);
      const job = await client.submit();
      assert.deepEqual(
        (await client.get('GET /v1/jobs/')).map(({ id }: { id: string }) => id),
        [job.id],
      );
      const { artifact_id } = await client.upload('/v1/artifacts', 'some bytes');
      assert.equal((await client.ask(`GET /v1/artifacts/${artifact_id}`)).text, 'some bytes');
      assert.deepEqual(await client.refusal('DELETE /v1/jobs'), [405, 'method_not_allowed']);
      const unknown = await client.ask('GET /v1/nothing');
      assert.equal(unknown.status, 404);
      assert.match(unknown.json.detail, /see \/lab\/jq\/openapi\.json/);
    });

    it('streams events', async (t) => {
      const { client, proxied } = await behind(t, { strips });
      const job = await client.submit();
      const stream = `${proxied}/v1/jobs/${job.id}/events/stream`;
      assert.equal(JSON.parse(await firstFrame(`${stream}?token=${TOKEN}`)).type, 'job_submitted');
      assert.equal(await firstFrame(stream), '401');
    });

    it('describes itself with its path, and its page asks for nothing outside of it', async (t) => {
      const { client } = await behind(t, { strips });
      assert.deepEqual((await client.get('GET /openapi.json')).servers, [{ url: '/lab/jq' }]);
      const { text, headers } = await client.ask('GET /ui');
      assert.match(headers.get('content-type') ?? '', /text\/html/);
      // Whatever the page names is relative, or part of it.
      assert.deepEqual(text.match(/\b(?:src|href|action)="\/[^"]*"/g), null);
    });
  });
}

describe('a server with a base path', () => {
  it('names it in its own address', async (t) => {
    const { server } = await behind(t);
    assert.match(server.url, /^http:\/\/127\.0\.0\.1:\d+\/lab\/jq$/);
    assert.equal((await new Foreigner(server.url).get('GET /healthz')).ok, true);
  });

  it('does not accept a path that only begins with the same letters', async (t) => {
    const { server } = await behind(t);
    const root = new Foreigner(server.url.replace(/\/lab\/jq$/, ''));
    for (const path of ['/lab/jqx/healthz', '/lab', '/lab/', '/lab/jq/lab/jq/healthz']) {
      assert.deepEqual(await root.refusal(`GET ${path}`), [404, 'unknown_path'], path);
    }
    for (const path of ['/lab/jq', '/lab/jq/', '/'])
      assert.equal((await root.get(`GET ${path}`)).ok, true, path);
  });

  for (const wrong of [
    'jq',
    'http://lab/jq',
    '/a b',
    '/a?b',
    '/a//b',
    '/../a',
    '/%6aq',
    '/{id}',
    '/:id',
    '/*',
  ]) {
    it(`does not start with ${wrong}`, async (t) => {
      const start = startTestServer(t, { basePath: wrong });
      await assert.rejects(start, (fault) => fault instanceof StartError && fault.code === 'bad_option');
    });
  }
});

describe('a page behind a proxy', () => {
  for (const renames of [false, true]) {
    for (const secure of [false, true]) {
      const how = `${renames ? 'names the host in a header of its own' : 'keeps the host'}, by ${secure ? 'https' : 'http'}`;
      it(`may send requests and open streams where the proxy ${how}`, async (t) => {
        const { client, proxied } = await behind(t, { renames, secure });
        const origin = `${secure ? 'https' : 'http'}://${new URL(proxied).host}`;
        const job = await client.submit();
        const cancelled = await client.ask(`POST /v1/jobs/${job.id}/cancel`, {}, { origin });
        assert.equal(cancelled.status, 200, cancelled.text);
        const frame = await firstFrame(`${proxied}/v1/events/stream?token=${TOKEN}`, origin);
        assert.equal(JSON.parse(frame).type, 'job_submitted');
        for (const foreign of ['http://evil.example', `http://${new URL(proxied).hostname}:1`]) {
          const refused = await client.refusal(`POST /v1/jobs/${job.id}/cancel`, {}, { origin: foreign });
          assert.deepEqual(refused, [403, 'origin_refused']);
          assert.equal(await firstFrame(`${proxied}/v1/events/stream?token=${TOKEN}`, foreign), '403');
        }
      });
    }
  }
});
