import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { requires } from '../support/requires.ts';
import { temporaryDirectory } from '../support/server.ts';
import { outOfFiles } from './files.ts';

describe('a server that may open no more files', requires('prlimit'), () => {
  test('answers on open connections, gives 503 where a file is needed, and recovers when connections close', async (t) => {
    const figures = await outOfFiles(join(await temporaryDirectory(t), 'state'), 30, 200);
    t.diagnostic(JSON.stringify(figures));
    assert.ok(figures.load < 0.5, `${figures.load} of a processor, with nothing to do`);
    assert.ok(figures.stretch < 20, `it ran for ${figures.stretch} ms at a time, with nothing to do`);
  });
});
