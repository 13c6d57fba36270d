import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { targetOf } from '../../gateway/transport/target.ts';

describe('the target of a request', () => {
  for (const [url, path, query, host] of [
    ['/v1/me', '/v1/me', '', undefined],
    ['/v1/jobs?limit=1', '/v1/jobs', 'limit=1', undefined],
    ['/v1/jobs?name=a?b', '/v1/jobs', 'name=a?b', undefined],
    ['/v1/jobs?', '/v1/jobs', '', undefined],
    ['*', '*', '', undefined],
    ['/http://other/v1/me', '/http://other/v1/me', '', undefined],
    ['http://queue.lab/v1/me', '/v1/me', '', 'queue.lab'],
    ['HTTP://queue.lab:8765/v1/jobs?limit=1', '/v1/jobs', 'limit=1', 'queue.lab:8765'],
    ['https://queue.lab', '/', '', 'queue.lab'],
    ['http://queue.lab?limit=1', '/', 'limit=1', 'queue.lab'],
  ] as const) {
    it(`${url} asks for ${path}${query && ` with ${query}`}${host ? ` of ${host}, as proxies ask` : ''}`, () => {
      assert.deepEqual(targetOf(url), { path, query, host });
    });
  }
});
