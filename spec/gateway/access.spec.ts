import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { GatewayOptions } from '../../gateway/options.ts';
import { ask, bearer, gatewayFor } from './support.ts';

const principals = ['alice:s-token:submitter', 'vic:v-token:viewer'];

type Options = Partial<GatewayOptions> & { principals?: string[] };

async function get(target: string, headers: Record<string, string>, options: Options = { principals }) {
  await using gateway = await gatewayFor(options);
  return await ask(gateway.port, { line: target.includes(' ') ? target : `GET ${target}`, headers });
}

describe('a credential', () => {
  it('is asked for with WWW-Authenticate', async () => {
    const answer = await get('/v1/workers', {});
    assert.deepEqual([answer.status, answer.headers.get('www-authenticate')], [401, 'Bearer']);
  });

  it('may have its scheme in upper or lower case', async () => {
    const answer = await get('/v1/me', { authorization: 'bEaReR v-token' });
    assert.deepEqual(JSON.parse(answer.body), { principal: 'vic', rights: ['read'] });
  });

  for (const value of ['Bearer', 'Bearer wrong', 'Basic v-token', 'v-token', 'Bearer v-token x']) {
    it(`is refused when it is '${value}'`, async () => {
      assert.equal((await get('/v1/me', { Authorization: value })).status, 401);
    });
  }

  it('in the query is accepted for streams only', async () => {
    assert.equal((await get('/v1/me?token=v-token', {})).status, 401);
    assert.equal((await get('/v1/events/stream?token=v-token', {})).status, 426);
  });

  it('is not needed for health and the dashboard', async () => {
    for (const path of ['/', '/healthz', '/version', '/ui', '/openapi.json']) {
      assert.equal((await get(path, {})).status, 200, path);
    }
  });

  it('decides alone about rights: the role header is advice', async () => {
    const answer = await get('POST /v1/jobs', { ...bearer('v-token'), 'X-CLUSTER-Role': 'admin' });
    assert.equal(answer.status, 403);
  });
});

describe('the page of another origin', () => {
  const evil = { Origin: 'http://evil.example' };

  for (const path of ['/', '/healthz', '/ui', '/v1/workers', '/v1/events/stream']) {
    it(`is refused at ${path}`, async () => {
      const answer = await get(path, { ...evil, ...bearer('v-token') });
      assert.deepEqual([answer.status, JSON.parse(answer.body).code], [403, 'origin_refused']);
      assert.equal(answer.headers.has('access-control-allow-origin'), false);
    });
  }

  it('is refused when its origin is opaque', async () => {
    assert.equal((await get('/healthz', { Origin: 'null' })).status, 403);
  });

  it('is refused when it preflights', async () => {
    const answer = await get('OPTIONS /v1/jobs', { ...evil, 'Access-Control-Request-Method': 'POST' });
    assert.equal(answer.status, 403);
  });

  it('is let in, and may read the answer, once allowed', async () => {
    const options = { principals, corsOrigins: ['https://Lab.example:443/'], headerPrefixes: ['Brand'] };
    const answer = await get('/v1/me', { Origin: 'https://lab.example', ...bearer('v-token') }, options);
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('access-control-allow-origin'), 'https://lab.example');
    const exposed = answer.headers.get('access-control-expose-headers') ?? '';
    for (const name of ['X-CLUSTER-Version', 'X-Brand-Api', 'ETag', 'Content-Range', 'Retry-After']) {
      assert.ok(exposed.includes(name), name);
    }
  });

  it('may read a refusal as well, once allowed', async () => {
    const answer = await get('/v1/me', { Origin: 'https://a.example' }, { principals, corsOrigins: ['*'] });
    assert.deepEqual(
      [answer.status, answer.headers.get('access-control-allow-origin')],
      [401, 'https://a.example'],
    );
  });

  it('learns by preflight what it may send, once allowed', async () => {
    const headers = { Origin: 'https://a.example', 'Access-Control-Request-Method': 'POST' };
    const answer = await get('OPTIONS /v1/jobs', headers, { principals, corsOrigins: ['https://a.example'] });
    assert.equal(answer.status, 204);
    assert.match(answer.headers.get('access-control-allow-methods') ?? '', /GET.*POST/);
    const allowed = answer.headers.get('access-control-allow-headers') ?? '';
    for (const name of ['X-CLUSTER-Version', 'X-CLUSTER-Api', 'X-CLUSTER-Role', 'Authorization', 'Range']) {
      assert.ok(allowed.includes(name), name);
    }
  });

  it("may differ from the server's own page by its port alone", async () => {
    assert.equal((await get('/healthz', { Origin: 'http://127.0.0.1:1' })).status, 403);
  });

  it('is refused under the own host with another scheme', async () => {
    const answer = await get('/healthz', { Host: 'lab.example', Origin: 'https://lab.example' });
    assert.equal(answer.status, 403);
  });
});

describe("the server's own page", () => {
  it('is served, under the name that the browser used', async () => {
    await using gateway = await gatewayFor({ principals });
    for (const [host, origin] of [
      [`127.0.0.1:${gateway.port}`, `http://127.0.0.1:${gateway.port}`],
      ['Lab.example', 'http://lab.example'],
      ['lab.example:80', 'http://lab.example'],
    ] as const) {
      const answer = await ask(gateway.port, {
        line: 'GET /healthz',
        headers: { Host: host, Origin: origin },
      });
      assert.equal(answer.status, 200, origin);
      assert.equal(answer.headers.has('access-control-allow-origin'), false);
    }
  });

  it('is served with a header that makes caches keep origins apart', async () => {
    assert.equal((await get('/healthz', {})).headers.get('vary'), 'Origin');
  });
});

describe('an open server on loopback', () => {
  for (const host of 'localhost:1 LOCALHOST 127.0.0.1:8765 127.8.8.8 [::1]:80 jq.localhost'.split(' ')) {
    it(`answers to the host ${host}`, async () => {
      assert.equal((await get('/healthz', { Host: host }, {})).status, 200);
    });
  }

  for (const host of ['evil.example', 'localhost.evil.example:8765', '192.168.1.5', 'notlocalhost']) {
    it(`refuses to answer to the host ${host}, whose DNS entry may have been pointed here`, async () => {
      const answer = await get('/healthz', { Host: host }, {});
      assert.deepEqual([answer.status, JSON.parse(answer.body).code], [403, 'host_refused']);
    });
  }

  it('answers to any host name once it asks for credentials', async () => {
    assert.equal((await get('/healthz', { Host: 'lab.example' })).status, 200);
  });

  it('answers to any host name when it is bound to the network', async () => {
    const answer = await get('/healthz', { Host: 'lab.example' }, { host: '0.0.0.0' });
    assert.equal(answer.status, 200);
  });
});
