import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { temporaryDirectory } from '../support/server.ts';
import { EXCEPTIONS, shippedBinaries, unexplained } from './audit.ts';

const advisory = { url: 'https://advisories.example/1', title: 'it breaks' };
const report = {
  vulnerabilities: { left: { severity: 'high', via: [advisory] }, pad: { severity: 'high', via: ['left'] } },
};

describe('the audit of the packages', () => {
  it('names an advisory without an explanation, once', () => {
    assert.deepEqual(unexplained(report, {}), ['high left: it breaks (https://advisories.example/1)']);
  });

  it('is silent about one that has an explanation, and about packages without any', () => {
    assert.deepEqual(unexplained(report, { [advisory.url]: 'only on another platform' }), []);
    assert.deepEqual(unexplained({ vulnerabilities: {} }, {}), []);
  });

  it('does not take a missing answer for a clean one', () => {
    assert.throws(() => unexplained({ error: {}, message: 'away' }, {}), /no report: away/);
    assert.throws(() => unexplained({}, {}), /no report/);
  });

  it('has a reason for each exception', () => {
    for (const [url, reason] of Object.entries(EXCEPTIONS))
      assert.ok(reason.length > 20, `${url} is explained`);
  });
});

describe('the binaries that come with a package', () => {
  it('are listed with their hashes, and nothing else of the package is', async (t) => {
    const folder = await temporaryDirectory(t);
    await writeFile(join(folder, 'package.json'), '{"name":"republished","version":"1.2.3"}');
    for (const name of ['b.node', 'a.node', 'index.js']) await writeFile(join(folder, name), name);
    const hash = (text: string) => createHash('sha256').update(text).digest('hex');
    assert.deepEqual(await shippedBinaries(pathToFileURL(`${folder}/`)), [
      'uWebSockets.js is republished@1.2.3, which ships 2 binaries:',
      `  ${hash('a.node')}  a.node`,
      `  ${hash('b.node')}  b.node`,
    ]);
  });

  it('are none where the package is not installed', async (t) => {
    const nowhere = pathToFileURL(join(await temporaryDirectory(t), 'uWebSockets.js/'));
    assert.deepEqual(await shippedBinaries(nowhere), ['uWebSockets.js is not installed']);
  });
});
