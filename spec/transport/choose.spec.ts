import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chooseTransport } from '../../gateway/transport/choose.ts';
import { Program, ROOT } from '../support/program.ts';
import { temporaryDirectory } from '../support/server.ts';

const WITHOUT = fileURLToPath(new URL('./fixtures/without-packages.mjs', import.meta.url));

describe('the choice of a transport', () => {
  it('takes the one that is asked for, and says that it was', async () => {
    const { transport, why } = await chooseTransport('node');
    assert.equal(transport.name, 'node');
    assert.match(why, /--transport/);
  });

  it('takes uWebSockets.js where it loads, else node:http, and says why', async () => {
    const { transport, why } = await chooseTransport('auto');
    if (transport.name === 'uws') assert.equal(why, 'uWebSockets.js loads here');
    else
      assert.match(why, /^uWebSockets\.js (is not installed|does not load on Node\.js [\d.]+ here \(.+\))$/);
  });
});

describe('a machine on which no transport works', () => {
  const CASES: [what: string, without: string, choice: string, told: RegExp][] = [
    ['both are missing', 'uWebSockets.js,ws', 'auto', /there is no package 'ws'; run npm ci in \//],
    [
      'the one that is asked for is missing',
      'uWebSockets.js',
      'uws',
      /uWebSockets\.js is not installed; start with --transport/,
    ],
    ['nothing is installed', 'tsx/esm/api', 'auto', /there is no package 'tsx\/esm\/api'; run npm ci in \//],
  ];
  for (const [what, without, choice, told] of CASES) {
    it(`is told what to install or to ask for where ${what}`, async (t) => {
      const state = join(await temporaryDirectory(t), 'state');
      const argv = ['--import', WITHOUT, `${ROOT}bin/jq-server`];
      const flags = ['--transport', choice, '--port', '0', '--state', state];
      const server = new Program(process.execPath, [...argv, ...flags], { JQ_TEST_WITHOUT: without });
      t.after(() => server.kill());
      const { code } = await server.ended;
      assert.equal(code, 2, server.stderr);
      assert.match(server.stderr, told);
      assert.doesNotMatch(server.stderr, /internal fault|defect|^\s+at /m, 'a sentence, and no stack');
    });
  }
});
