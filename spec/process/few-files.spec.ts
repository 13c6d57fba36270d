import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { ROOT } from '../cli/cli-support.ts';
import { requires } from '../support/requires.ts';
import { temporaryDirectory } from '../support/server.ts';

describe('where fewer files may be open than a program needs', requires('proc'), () => {
  for (const line of ['jq-server', 'jq-worker', 'jqctl server', 'jqctl jobs']) {
    for (const limit of [24, 64, 127]) {
      it(`${line} says so and exits with 2, at ${limit}`, async (t) => {
        const state = join(await temporaryDirectory(t), 'state');
        const started = `ulimit -n ${limit}; exec bin/${line} --state ${state}`;
        const child = spawn('sh', ['-c', started], {
          ...{ cwd: ROOT, stdio: ['ignore', 'ignore', 'pipe'] },
          // One that does not refuse serves on.
          ...{ timeout: 60_000, killSignal: 'SIGKILL' },
        });
        const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
        const [program] = line.split(' ');
        assert.match(
          said,
          new RegExp(
            `^error: at most ${limit} files .*, and ${program} needs 128; raise the limit [^\\n]*\\n$`,
          ),
        );
        assert.equal(code, 2);
        assert.equal(existsSync(state), false);
      });
    }
  }

  it('a program starts with as many as it needs', async () => {
    const child = spawn('sh', ['-c', 'ulimit -n 128; exec bin/jqctl --version'], { cwd: ROOT });
    assert.equal((await once(child, 'close'))[0], 0);
  });
});
