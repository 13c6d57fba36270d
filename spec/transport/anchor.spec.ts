import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { Anchor } from '../../gateway/transport/uws/anchor.ts';
import { loadUws } from '../../gateway/transport/uws/library.ts';
import { listen } from '../../gateway/transport/uws/listen.ts';
import { until } from '../support/until.ts';

describe('the anchor of upgrades', () => {
  /** An app with an anchor, and the connections that came to it. */
  async function anchored(t: TestContext) {
    const uws = await loadUws();
    const app = uws.App();
    const anchor = new Anchor();
    anchor.serve(app);
    let connections = 0;
    const count = (_: unknown, change: number) => {
      connections += change;
    };
    app.filter(count);
    const { port, close } = await listen(uws, app, { host: '127.0.0.1', port: 0, shared: false });
    anchor.aim('127.0.0.1', port, false);
    t.after(() => {
      anchor.stop();
      close();
      app.close();
    });
    return { app, anchor, port, connections: () => connections };
  }

  const responseOf = async (anchor: Anchor) => {
    await anchor.ready();
    return anchor.response;
  };

  it('is one request of the server to itself, made when it is first needed', async (t) => {
    const { anchor, connections } = await anchored(t);
    assert.equal(connections(), 0);
    const [first, second] = await Promise.all([responseOf(anchor), responseOf(anchor)]);
    assert.ok(first);
    assert.equal(first, second);
    assert.equal(await responseOf(anchor), first);
    assert.equal(connections(), 1);
    let ran = false;
    first.cork(() => {
      ran = true;
    });
    assert.ok(ran);
  });

  it('is made anew when it is lost', async (t) => {
    const { app, anchor } = await anchored(t);
    const first = await responseOf(anchor);
    first?.close();
    const second = await until('another', async () => {
      const now = await responseOf(anchor);
      return now !== first && now;
    });
    assert.ok(second);
    assert.ok(app);
  });

  it('is none where the server cannot reach itself, and after the stop', async (t) => {
    const { anchor, port } = await anchored(t);
    const lost = new Anchor();
    assert.equal(await responseOf(lost), undefined);
    lost.aim('127.0.0.1', 1, false);
    assert.equal(await responseOf(lost), undefined);
    assert.ok(await responseOf(anchor));
    anchor.stop();
    anchor.stop();
    assert.equal(await responseOf(anchor), undefined);
    connect(port, '127.0.0.1').destroy();
  });
});
