import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { explain } from '../../bin/cli/explain.ts';
import { ResponseError } from '../../gateway/client/errors.ts';

describe('a refusal of another implementation of the server', () => {
  const SENTENCES: [unknown, string][] = [
    [{ detail: 'no such job' }, 'no such job'],
    [
      {
        detail: [
          { loc: ['body', 'pipeline', 'kind'], msg: 'Field required', type: 'missing' },
          { loc: ['query', 'worker_id'], msg: 'Field required' },
        ],
      },
      'body.pipeline.kind: Field required; query.worker_id: Field required',
    ],
    [{ detail: [{ msg: 'bad' }, 'worse', { a: 1 }] }, 'bad; worse; {"a":1}'],
    [{ detail: { reason: 'full' } }, '{"reason":"full"}'],
    ...[{}, null, [], 'text', { detail: null }, { detail: '' }, { detail: [] }].map(
      (said): [unknown, string] => [said, 'the server answered 422'],
    ),
  ];
  for (const [said, sentence] of SENTENCES) {
    it(`becomes a sentence: ${JSON.stringify(said)}`, () => {
      assert.equal(new ResponseError(422, said).message, sentence);
    });
  }

  const CODES: [number, string | undefined, string][] = [
    [401, undefined, 'unauthenticated'],
    [403, "principal 'lab' lacks required right(s): execute", 'missing_rights'],
    [403, "principal 'lab' is not registered for worker worker_1", 'not_owner'],
    [404, 'Not Found', 'unknown_path'],
    [404, undefined, 'unknown_path'],
    [404, 'job not found: job_1', 'unknown_id'],
    [409, 'stale', 'illegal_transition'],
    [418, 'tea', 'internal'],
  ];
  for (const [status, detail, code] of CODES) {
    it(`without a code, ${status} with '${detail}' means ${code}`, () => {
      assert.equal(new ResponseError(status, detail === undefined ? {} : { detail }).code, code);
    });
  }

  it('names the proxy where a stream is answered like a plain request', () => {
    const said = { detail: 'this is a WebSocket stream', code: 'upgrade_required' };
    assert.match(explain(new ResponseError(426, said)).hint ?? '', /proxy .* does not pass WebSockets on/);
    const other = { detail: 'another protocol', code: 'incompatible_api' };
    assert.match(explain(new ResponseError(426, other)).hint ?? '', /upgrade the older one/);
  });

  it('keeps the list of faults where it can be read', () => {
    const said = { errors: [{ path: '/a', message: 'm' }, 5, { message: { x: 1 } }, null] };
    assert.deepEqual(new ResponseError(422, said).faults, [
      { path: '/a', message: 'm' },
      { path: '/', message: '{"x":1}' },
    ]);
    assert.deepEqual(new ResponseError(422, { errors: 'many' }).faults, []);
  });
});
