import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { ask } from '../gateway/support.ts';
import { NASTY_NUMBERS, NASTY_TEXTS, NO_VALUES } from './nasty.ts';
import { OpenScope } from './scope.ts';
import { Target } from './target.ts';

interface Answered {
  id?: string;
  name?: string;
  priority?: number;
  code?: string;
  detail?: string;
}

const MIB = 1024 * 1024;

/** A job whose other members are given as JSON text. */
const job = (members: string) =>
  `{"type":"demo.run","pipeline":{"kind":"inline_json","inline":{}},"dataset":{"kind":"catalog","catalog_id":"x"}${members}}`;

describe('a body that no client would send', () => {
  const scope = new OpenScope();
  let target: Target;
  before(async () => {
    target = await Target.start(scope);
  });
  after(() => scope.end());

  async function post(path: string, body: string | Buffer, chunked = false) {
    const headers = { 'Content-Type': 'application/json' };
    const answer = await ask(target.port, { line: `POST ${path}`, headers, body, chunked });
    return { ...(JSON.parse(answer.body) as Answered), http: answer.status };
  }
  const submit = (body: string | Buffer) => post('/v1/jobs', body);
  const requestOf = async (id: unknown) =>
    (await ask(target.port, { line: `GET /v1/jobs/${id}/request` })).body;
  const refused = async (body: string | Buffer, status: number, code: string) => {
    const answer = await submit(body);
    const what = String(body.slice(0, 100));
    assert.deepEqual([answer.http, answer.code], [status, code], `${what}: ${answer.detail}`);
  };

  it('is refused when it nests deeper than anybody would write, in objects or lists, whole or not', async () => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      for (const depth of [501, 10_000, 1_000_000]) {
        await refused(
          job(`,"params":{"a":${open.repeat(depth)}1${close.repeat(depth)}}`),
          400,
          'malformed_body',
        );
        await refused(job(`,"params":{"a":${open.repeat(depth)}`), 400, 'malformed_body');
      }
    }
    const deep = job(`,"params":{"a":${'['.repeat(400)}${']'.repeat(400)}}`);
    assert.equal((await submit(deep)).http, 200, 'what is merely odd is taken');
    await target.assertUnharmed('deep documents');
  });

  it('keeps every number as it was written, however large or fine', async () => {
    const params = `{"n":[${NASTY_NUMBERS.join(',')}]}`;
    const { http, id } = await submit(job(`,"params":${params}`));
    assert.equal(http, 200);
    assert.ok((await requestOf(id)).includes(`"params":${params}`), 'digit for digit');
  });

  it('is refused when a member that the server computes with is not a number', async () => {
    for (const literal of ['1e400', '-1e400', '1.5', '9'.repeat(400), '"1"', '-1e9999']) {
      await refused(job(`,"priority":${literal}`), 422, 'invalid_body');
    }
    await refused(job(',"timeout_seconds":1e-400'), 422, 'invalid_body');
  });

  it('is refused when it is no JSON: NaN in a job, hex, comments, single quotes, control characters', async () => {
    for (const piece of NO_VALUES) await refused(job(`,"params":{"a":${piece}}`), 400, 'malformed_body');
  });

  it('keeps every text as it was sent, which a search finds', async () => {
    for (const text of NASTY_TEXTS.filter((t) => t.length <= 500)) {
      const sent = JSON.stringify(text);
      const { http, id, name } = await submit(job(`,"name":${sent},"params":{${sent}:${sent}}`));
      assert.equal(http, 200, sent);
      // Half a surrogate pair has no form in UTF-8, which is what the store keeps.
      const kept = text.replace(/\p{Cs}/gu, '\ufffd');
      assert.equal(name, kept, 'the name, as answered');
      const stored = JSON.parse((await ask(target.port, { line: `GET /v1/jobs/${id}` })).body).name;
      assert.equal(stored, kept, 'the name, read again');
      const request = JSON.parse(await requestOf(id));
      assert.ok(Object.hasOwn(request.params, text), `${sent} as a key`);
      assert.equal(request.params[text], text, 'as a value');
    }
    await target.assertUnharmed('nasty texts');
  });

  it('may have the names of prototype members as keys, which are keys like any other', async () => {
    const evil = '{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}},"toString":1}';
    const { http, id } = await submit(job(`,"params":${evil},"__proto__":{"priority":7},"constructor":1`));
    assert.equal(http, 200);
    assert.ok((await requestOf(id)).includes(`"params":${evil}`), 'as written');
    const view = JSON.parse((await ask(target.port, { line: `GET /v1/jobs/${id}` })).body);
    assert.equal(view.priority, 0, 'what a prototype says does not count');
    // A required member that only the prototype has is missing.
    const inherited = '{"__proto__":{"type":"demo.run","pipeline":{"kind":"path","path":"x"}}}';
    await refused(inherited, 422, 'invalid_body');
    await refused(
      '{"type":"demo.run","pipeline":{"__proto__":{"kind":"path"},"path":"x"}}',
      422,
      'invalid_body',
    );
    const labels = `{"labels":{"__proto__":"x","constructor":"y"},"name":"proto"}`;
    assert.equal((await post('/v1/workers/register', labels)).http, 200);
    const workers = JSON.parse((await ask(target.port, { line: 'GET /v1/workers' })).body);
    assert.deepEqual(Object.keys(workers[0].labels).sort(), ['__proto__', 'constructor']);
    await target.assertUnharmed('prototype keys');
  });

  it('counts with the last value where a key is given twice', async () => {
    const { http, priority } = await submit(job(',"priority":1,"priority":2'));
    assert.deepEqual([http, priority], [200, 2]);
    await refused(job(',"priority":1,"priority":"x"'), 422, 'invalid_body');
  });

  it('may begin with a byte order mark, but must be UTF-8', async () => {
    assert.equal((await submit(`\ufeff${job('')}`)).http, 200);
    for (const bytes of ['fffe', 'c328', 'eda080', 'f8888080', 'c0af']) {
      const text = job(',"name":"@"');
      const [before, behind] = text.split('@') as [string, string];
      const body = Buffer.concat([Buffer.from(before), Buffer.from(bytes, 'hex'), Buffer.from(behind)]);
      await refused(body, 400, 'malformed_body');
    }
    await refused(Buffer.from(job(''), 'utf16le'), 400, 'malformed_body');
  });

  it('may be 16 MiB of white space and not a byte more, declared or not', async () => {
    const spaces = (bytes: number) => Buffer.alloc(bytes, ' ');
    assert.equal((await submit(spaces(16 * MIB))).http, 422, 'an empty body, after all');
    await refused(spaces(16 * MIB + 1), 413, 'body_too_large');
    assert.equal((await post('/v1/jobs', spaces(16 * MIB), true)).http, 422);
    assert.equal((await post('/v1/jobs', spaces(16 * MIB + 1), true)).http, 413);
    const padded = job('').replaceAll(',', `,${' '.repeat(2 * MIB)}`);
    assert.equal((await submit(padded)).http, 200);
    await target.assertUnharmed('white space');
  });

  it('is refused by a short message, however long the names of its members are', async () => {
    const long = 'x'.repeat(4 * MIB);
    const bodies = [
      job(`,"requirements":{"labels":{"${long}":1}}`),
      job(`,"requirements":{"packages":{"numpy":"${long}"}}`),
      job(`,"requirements":{"packages":{"${long}":"no version"}}`),
      job(`,"rank_mode":"${long}"`),
      job(`,"retry":{${Array.from({ length: 5000 }, (_, i) => `"max_attempts":${i + 50}`).join(',')}}`),
      `{"pipelines":[${'1,'.repeat(200_000)}1],"type":"demo.run","dataset":{"kind":"catalog","catalog_id":"x"}}`,
      `{"type":"${long}"}`,
    ];
    for (const body of bodies) {
      const answer = await submit(body);
      assert.equal(answer.http, 422);
      assert.ok(JSON.stringify(answer).length < 300_000, `${JSON.stringify(answer).length} characters`);
      assert.ok(`${answer.detail}`.length <= 2001, 'a sentence');
    }
    const result = `{"status":"succeeded","artifacts":{"${long}":"${long}"}}`;
    const unknown = await post('/v1/tasks/x/complete?worker_id=x', result);
    assert.ok(JSON.stringify(unknown).length < 10_000, 'nothing is repeated at length');
    await target.assertUnharmed('long names');
  });
});
