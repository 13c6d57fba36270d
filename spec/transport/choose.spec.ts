import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chooseTransport } from '../../gateway/transport/choose.ts';

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
