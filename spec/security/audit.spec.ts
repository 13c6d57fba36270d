import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { EXCEPTIONS, unexplained } from './audit.ts';

const advisory = { url: 'https://advisories.example/1', title: 'it breaks' };
const report = {
  vulnerabilities: { left: { severity: 'high', via: [advisory] }, pad: { severity: 'high', via: ['left'] } },
};

describe('the audit of the packages', () => {
  it('names an advisory that nobody has explained, once', () => {
    assert.deepEqual(unexplained(report, {}), ['high left: it breaks (https://advisories.example/1)']);
  });

  it('is silent about one that has an explanation, and about packages without any', () => {
    assert.deepEqual(unexplained(report, { [advisory.url]: 'only on another platform' }), []);
    assert.deepEqual(unexplained({ vulnerabilities: {} }, {}), []);
  });

  it('takes no answer for no clean one', () => {
    assert.throws(() => unexplained({ error: {}, message: 'away' }, {}), /no report: away/);
    assert.throws(() => unexplained({}, {}), /no report/);
  });

  it('has a reason for each exception', () => {
    for (const [url, reason] of Object.entries(EXCEPTIONS))
      assert.ok(reason.length > 20, `${url} is explained`);
  });
});
