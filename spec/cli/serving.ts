import assert from 'node:assert/strict';
import type { Outcome } from './cli-support.ts';

export function isOneSentence({ code, stdout, stderr }: Outcome, says: RegExp): void {
  assert.equal(code, 2, stderr);
  assert.equal(stdout, '');
  assert.match(stderr, /^error: [^\n]*\n$/, 'one line, no stack trace');
  assert.match(stderr, says);
}
