import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { findJsonError } from '../../bin/jobs/submit/json-error.ts';
import { run } from './cli-support.ts';
import { aJob, fakeServer } from './fake-server.ts';

const GOOD =
  'type: mljs.run\npipeline: {kind: path, path: only/on/workers.yaml}\ndataset: {kind: catalog, catalog_id: corn}\n';
const GOOD_JSON = `{"type":"mljs.run","pipeline":{"kind":"path","path":"p"},"dataset":{"kind":"catalog","catalog_id":"c"}}`;

describe('submit checks the job file before it sends it', () => {
  let folder: string;
  let server: Awaited<ReturnType<typeof fakeServer>>;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'jq-job-file-'));
    server = await fakeServer({ 'POST /v1/jobs': { body: aJob({ status: 'queued' }) } });
  });
  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true });
  });

  async function submit(name: string, content?: string | Buffer, stdin?: string) {
    const path = name === '-' ? name : join(folder, name);
    if (content !== undefined) await writeFile(path, content);
    const sent = server.requests.length;
    const outcome = await run(['submit', path, '--server', server.url], stdin === undefined ? {} : { stdin });
    return { ...outcome, sent: server.requests.length - sent };
  }

  const broken: [title: string, name: string, content: string | Buffer | undefined, says: RegExp][] = [
    [
      'a YAML fault by line and column',
      'a.yaml',
      'type: mljs.run\nname: [1, 2\ndataset: x\n',
      /a\.yaml: line 3, column 1: /,
    ],
    [
      'a JSON fault by line and column',
      'a.json',
      '{\n  "type": "mljs.run"\n  "name": 1\n}',
      /a\.json: line 3, column 3: expected ',' or '}'/,
    ],
    [
      'a JSON fault of a file without extension',
      'job',
      '{"type": "mljs.run" "name": 1}',
      /line 1, column 21: expected ',' or '}'/,
    ],
    ['a directory', '.', undefined, /is a directory/],
    ['a missing file', 'nowhere.yaml', undefined, /there is no file .*nowhere\.yaml/],
    ['an empty file', 'empty.yaml', ' \n', /empty\.yaml is empty/],
    ['bytes that are no text', 'bytes.yaml', Buffer.from([0xff, 0xfe, 0x00]), /not UTF-8/],
    ['a list instead of a job', 'list.yaml', '- 1\n', /is not a valid job/],
    [
      'a merge key, at its place',
      'merge.yaml',
      'a: &x {b: 1}\nc:\n  <<: *x\n',
      /line 3, column \d+: merge keys/,
    ],
  ];
  for (const [title, name, content, says] of broken) {
    it(`${title}: exit code 2, and nothing is sent`, async () => {
      const { code, stdout, stderr, sent } = await submit(name, content);
      assert.equal(code, 2);
      assert.match(stderr, says);
      assert.equal(stdout, '');
      assert.equal(sent, 0);
    });
  }

  it('lists all faults of a specification, each with its line and its path', async () => {
    const { code, stderr, sent } = await submit(
      'faults.yaml',
      'type: MLJS\npriority: high\npipeline: {kind: pth}\nretry: {max_attempts: 99}\n',
    );
    assert.equal(code, 2);
    assert.equal(sent, 0);
    for (const [i, path] of ['/type', '/priority', '/pipeline/kind', '/retry/max_attempts'].entries()) {
      assert.match(stderr, new RegExp(`^ {2}line ${i + 1}: ${path} `, 'm'));
    }
  });

  it('lists faults that the schema cannot find, too', async () => {
    const { code, stderr } = await submit(
      'none.yaml',
      'type: mljs.run\nrequirements: {packages: {a: "=>1"}}\n',
    );
    assert.equal(code, 2);
    for (const path of ['/pipeline', '/dataset', '/requirements/packages/a'])
      assert.ok(stderr.includes(path), path);
  });

  it('warns of an unknown field, and sends the job nevertheless', async () => {
    const { code, stderr, stdout, sent } = await submit('warn.yaml', `${GOOD}retires: 3\n`);
    assert.equal(code, 0);
    assert.match(stderr, /warning: unknown field 'retires', did you mean 'retry'\?/);
    assert.equal(stdout, 'job_1\n');
    assert.equal(sent, 1);
  });

  it('accepts a path that does not exist on this machine, and leaves Python jobs to the server', async () => {
    const { code } = await submit(
      'python.yaml',
      'type: nirs.run\npipeline: {kind: python_entrypoint, entrypoint: mod}\ndataset: {kind: shared_path, path: /nowhere/at/all}\n',
    );
    assert.equal(code, 0);
  });

  it('reads YAML or JSON from stdin, by its content', async () => {
    for (const stdin of [
      GOOD,
      GOOD_JSON,
      '{type: mljs.run, pipeline: {kind: path, path: p}, dataset: {kind: catalog, catalog_id: c}}',
    ]) {
      const { code, stdout } = await submit('-', undefined, stdin);
      assert.equal(code, 0, stdin);
      assert.equal(stdout, 'job_1\n');
    }
  });
});

describe('the place of a JSON fault', () => {
  const places: [text: string, line: number, column: number, message: RegExp][] = [
    ['{"a":x}', 1, 6, /expected a value, found 'x'/],
    ['{"a":1', 1, 7, /expected ',' or '}' here, found the end/],
    ['[1 2]', 1, 4, /expected ',' or ']'/],
    ['[1,\n 2,\n]', 2, 3, /a comma right before ']'/],
    ['{a: 1}', 1, 2, /a name in double quotes, found 'a'/],
    ["{'a': 1}", 1, 2, /double quotes/],
    ['{"a" 1}', 1, 6, /expected ':'/],
    ['{"a": 01}', 1, 7, /expected a value/],
    ['{"a": 1.}', 1, 7, /expected a value/],
    ['{"a": NaN}', 1, 7, /expected a value/],
    ['{"a": "\\x"}', 1, 8, /escape/],
    ['{"a": "b\n"}', 1, 7, /closing quote on its line/],
    ['{"a": "b', 1, 7, /no closing quote/],
    ['{} {}', 1, 4, /the end of the text, found '{'/],
    ['', 1, 1, /expected a value, found the end/],
  ];
  for (const [text, line, column, message] of places) {
    it(`in ${JSON.stringify(text)} is line ${line}, column ${column}`, () => {
      const fault = findJsonError(text);
      assert.deepEqual([fault?.line, fault?.column], [line, column]);
      assert.match(fault?.message ?? '', message);
      assert.throws(() => JSON.parse(text), 'the engine refuses it as well');
    });
  }

  it('is none in valid JSON, and a text nested very deeply does no harm', () => {
    assert.equal(findJsonError(' {"a": [1, -2.5e+3, true, null, "\\u00e9\\n", {}, []]} '), undefined);
    assert.ok(findJsonError('['.repeat(200_000)));
  });
});
