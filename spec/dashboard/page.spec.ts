import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { dashboardPage } from '../../gateway/ui/page.ts';
import { gatewayFor } from '../gateway/support.ts';
import { startTestServer } from '../support/server.ts';

const MOST_CHARACTERS = 480_000;
const MOST_COMPRESSED = 150_000;

describe('the dashboard as a document', () => {
  it('is one document that loads nothing from elsewhere, and may run only what is in it', async (t) => {
    const server = await startTestServer(t);
    const answer = await fetch(`${server.url}/ui?status=failed`);
    const html = await answer.text();
    const script = /<script>([\s\S]*)<\/script>\n<\/body>/.exec(html)?.[1] ?? '';
    const hash = createHash('sha256').update(script).digest('base64');
    const policy = answer.headers.get('content-security-policy') ?? '';
    assert.equal(answer.status, 200);
    assert.equal(answer.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.ok(script.length > 10_000, 'the script is in the page');
    assert.deepEqual(policy.match(/script-src ([^;]*)/)?.[1]?.split(' '), [`'sha256-${hash}'`]);
    assert.deepEqual(policy.match(/style-src ([^;]*)/)?.[1]?.split(' ').length, 1);
    assert.match(policy, /default-src 'none'/);
    assert.doesNotMatch(policy, /unsafe/);
    assert.doesNotMatch(html.replace(script, ''), /(src|href)="(?!data:)/, 'nothing is fetched');
  });

  it('stays light: with its pictures of statecharts it takes less than a photograph', async () => {
    const html = await dashboardPage('jq-cluster');
    assert.ok(html.length < MOST_CHARACTERS, `${html.length} characters`);
    assert.ok(gzipSync(html).length < MOST_COMPRESSED, `${gzipSync(html).length} bytes compressed`);
  });

  it('shows the name of the service as text, whatever it is', async () => {
    const html = await dashboardPage(`</title><script>alert("&'")</script>`);
    assert.match(
      html,
      /<title>&lt;\/title&gt;&lt;script&gt;alert\(&quot;&amp;&#39;&quot;\)&lt;\/script&gt;<\/title>/,
    );
  });

  it('is built once, and again only after that failed', async () => {
    let made = 0;
    const dashboard = async () => {
      made++;
      if (made === 1) throw new Error('no bundler');
      return `<!doctype html><title>${made}</title>`;
    };
    await using gateway = await gatewayFor({ dashboard });
    const answers = [];
    for (let i = 0; i < 3; i++) {
      const answer = await fetch(`${gateway.url}/ui`);
      answers.push([answer.status, /<title>(.*)<\/title>/.exec(await answer.text())?.[1]]);
    }
    assert.deepEqual(answers, [
      [500, undefined],
      [200, '2'],
      [200, '2'],
    ]);
  });
});
