import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { inTime } from '../support/in-time.ts';
import { Program } from '../support/program.ts';
import { until } from '../support/until.ts';
import { atEnd, temporaryFolder } from './folder.ts';

const PROGRAM = fileURLToPath(new URL('./fixtures/wedged.ts', import.meta.url));

async function wedged(t: TestContext, cancelMs: number): Promise<Program> {
  const pipe = join(await temporaryFolder(t), 'pipe');
  execFileSync('mkfifo', [pipe]);
  const program = new Program(process.execPath, ['--import', 'tsx', PROGRAM, pipe, String(cancelMs)]);
  atEnd(t, () => program.child.kill('SIGKILL'));
  await until('it to run', () => program.stdout.includes('ready'));
  return program;
}

describe('a program of which something hangs in the kernel', () => {
  it('ends after the second SIGTERM, by itself', async (t) => {
    const program = await wedged(t, 100);
    program.child.kill('SIGTERM');
    await until('the first to be heard', () => program.stderr.includes('stopping'));
    program.child.kill('SIGTERM');
    assert.deepEqual(await inTime('its end', program.ended), { code: null, signal: 'SIGTERM' });
    assert.match(program.stderr, /something of it hangs/);
  });

  it('ends at once at the third', async (t) => {
    const program = await wedged(t, 3_600_000);
    for (const heard of ['stopping', 'cancelling what runs']) {
      program.child.kill('SIGINT');
      await until(heard, () => program.stderr.includes(heard));
    }
    program.child.kill('SIGINT');
    assert.deepEqual(await inTime('its end', program.ended), { code: null, signal: 'SIGINT' });
  });
});
