import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import { describe, it, type TestContext } from 'node:test';
import { InputError, WorkerError } from '../../actors/worker/errors.ts';
import { downloadArtifact } from '../../actors/worker/inputs/download.ts';
import { clientOf } from '../support/client.ts';
import { listenFor } from '../support/listen.ts';
import { temporaryFolder } from './folder.ts';
import { quick, silent } from './quick.ts';

const CONTENT = 'steps: [snv]'.repeat(10_000);
const SHA = createHash('sha256').update(CONTENT).digest('hex');
const HEADERS = { etag: `"${SHA}"`, 'content-disposition': 'attachment; filename="p.yaml"' };

/** Downloads from a server that gives each answer in turn, the last one for ever. */
async function fetch(t: TestContext, ...answers: ((response: ServerResponse) => void)[]) {
  let asked = 0;
  const server = createServer((_, response) => answers[Math.min(asked++, answers.length - 1)]?.(response));
  const client = clientOf(t, (await listenFor(t, server)).url);
  const folder = await temporaryFolder(t);
  const signal = new AbortController().signal;
  const persistence = { backoff: { limits: quick, random: () => 0 }, log: silent, signal };
  const download = downloadArtifact({ client, artifactId: 'art_1', folder, prefix: 'in-', persistence });
  return { download, asked: () => asked };
}

const good = (response: ServerResponse) => response.writeHead(200, HEADERS).end(CONTENT);
const refusal = (status: number, code: string) => (response: ServerResponse) =>
  response.writeHead(status).end(JSON.stringify({ detail: `it is ${status}`, code }));

describe('downloading an artifact', () => {
  it('keeps its bytes and the end of its name, and gives its hash', async (t) => {
    const { download } = await fetch(t, good);
    const { path, sha256 } = await download;
    assert.equal(sha256, SHA);
    assert.match(path, /\/in-p\.yaml$/);
    assert.equal(await readFile(path, 'utf8'), CONTENT);
  });

  const passing: [string, (response: ServerResponse) => void][] = [
    [
      'bytes that are not those of the ETag',
      (response) => response.writeHead(200, HEADERS).end('something else'),
    ],
    [
      'a connection that breaks in the middle',
      (response) => {
        response.writeHead(200, { ...HEADERS, 'content-length': CONTENT.length });
        response.write(CONTENT.slice(0, 1000), () => response.destroy());
      },
    ],
    ['a server that is busy', refusal(503, 'store_unavailable')],
  ];
  for (const [what, answer] of passing) {
    it(`is repeated after ${what}`, async (t) => {
      const { download, asked } = await fetch(t, answer, good);
      assert.equal(await readFile((await download).path, 'utf8'), CONTENT);
      assert.equal(asked(), 2);
    });
  }

  it('fails the task after three damaged tries and names the artifact, since no worker will get it', async (t) => {
    const damaged = (response: ServerResponse) => response.writeHead(200, HEADERS).end('rotten');
    const { download, asked } = await fetch(t, damaged);
    await assert.rejects(
      download,
      (fault) =>
        fault instanceof InputError && /'art_1' arrived damaged .*, 3 times; upload it/.test(fault.message),
    );
    assert.equal(asked(), 3);
  });

  it('is left to other workers when the answer breaks off again and again', async (t) => {
    const broken = (response: ServerResponse) => {
      response.writeHead(200, { ...HEADERS, 'content-length': CONTENT.length });
      response.write(CONTENT.slice(0, -1), () => response.destroy());
    };
    const { download, asked } = await fetch(t, broken);
    await assert.rejects(
      download,
      (fault) =>
        fault instanceof WorkerError &&
        !fault.own &&
        // What came and was not yet read when it broke off is not counted.
        /'art_1' broke off after [1-9]\d* bytes, and so did 4 tries before/.test(fault.message),
    );
    assert.equal(asked(), 5);
  });

  it('is an input fault at once when the bytes are lost on the server', async (t) => {
    const { download, asked } = await fetch(t, refusal(410, 'artifact_lost'));
    await assert.rejects(
      download,
      (fault) => fault instanceof InputError && /'art_1' are lost on the server/.test(fault.message),
    );
    assert.equal(asked(), 1);
  });

  it('is an input fault when there is no such artifact', async (t) => {
    const { download } = await fetch(t, refusal(404, 'unknown_id'));
    await assert.rejects(download, (fault) => fault instanceof InputError && /'art_1'/.test(fault.message));
  });

  it('is no input fault when this worker may not read: another one may', async (t) => {
    const { download, asked } = await fetch(t, refusal(403, 'missing_rights'));
    await assert.rejects(download, (fault) => fault instanceof WorkerError && /art_1/.test(String(fault)));
    assert.equal(asked(), 1);
  });
});
