import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chooseTransport } from '../../gateway/transport/choose.ts';
import { installation, runIn } from '../support/installation.ts';

describe('the choice of a transport', () => {
  it('takes the transport that is asked for, and says so', async () => {
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
  const CASES: [what: string, without: string[], choice: string, told: RegExp][] = [
    ['both are missing', ['uWebSockets.js', 'ws'], 'auto', /ws is not installed; .*run npm ci in /],
    [
      'the one that is asked for is missing',
      ['uWebSockets.js'],
      'uws',
      /uWebSockets\.js is not installed; start with --transport/,
    ],
    ['nothing is installed', ['tsx', 'esbuild'], 'auto', /there is no package 'tsx'; run npm ci in \//],
  ];
  for (const [what, without, choice, told] of CASES) {
    it(`gets a message of what to install or to ask for where ${what}`, async (t) => {
      const home = await installation(t, { without });
      const flags = ['--transport', choice, '--port', '0', '--state', `${home}/state`];
      const { code, stderr } = await runIn(home, 'bin/jq-server', ...flags);
      assert.equal(code, 2, stderr);
      assert.match(stderr, told);
      assert.doesNotMatch(stderr, /internal fault|defect|^\s+at /m, 'a sentence, and no stack');
    });
  }
});
