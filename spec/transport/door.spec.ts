import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { requires } from '../support/requires.ts';

const PROGRAM = fileURLToPath(new URL('./fixtures/shut.ts', import.meta.url));

describe('a listening socket that was closed for lack of files', requires('proc'), () => {
  it('is opened again also when the last client has gone and nothing else keeps the process alive', async () => {
    const script = 'ulimit -n 256; exec "$0" --import tsx "$1"';
    const { stdout } = await promisify(execFile)('sh', ['-c', script, process.execPath, PROGRAM]);
    assert.equal(stdout, 'shut\nopen\n');
  });
});
