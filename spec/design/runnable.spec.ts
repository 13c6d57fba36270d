import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { quietPort } from '../support/program.ts';
import { requires } from '../support/requires.ts';
import { temporaryDirectory } from '../support/server.ts';
import { filesBelow, readText, runnable } from './documents/markdown.ts';
import { ROOT } from './documents/parts.ts';

/** Seconds after which a document's commands are ended, that go on for far less. */
const LONGEST = 240;
/** The port that documents name; another one takes its place, since that one may be taken. */
const PORT = '8765';
/** What of the repository the commands find where they run; a state directory that lies in it is not theirs. */
const FOLDERS = ['bin', 'examples'];

const documents = filesBelow(ROOT, (name) => name.endsWith('.md'))
  .map((path) => ({ path, blocks: runnable(readText(ROOT, path)) }))
  .filter(({ blocks }) => blocks.length > 0);

describe('the commands of a document that are marked as runnable', () => {
  test('are found in the documents', () => {
    const paths = documents.map(({ path }) => path);
    for (const path of ['README.md', 'docs/operations.md', 'docs/protocol.md'])
      assert.ok(paths.includes(path), path);
  });

  for (const { path, blocks } of documents) {
    test(`run from the first to the last: ${path}`, requires('bash', 'curl'), async (t) => {
      const folder = await temporaryDirectory(t);
      for (const name of FOLDERS) symlinkSync(join(ROOT, name), join(folder, name));
      const port = await quietPort();
      const { code, output } = await run(scriptOf(blocks).replaceAll(PORT, String(port)), folder, port);
      assert.equal(code, 0, output);
    });
  }

  test('stop with a failure at the first one that fails', requires('bash'), async (t) => {
    const folder = await temporaryDirectory(t);
    const { code, output } = await run(
      scriptOf(['echo one', 'false | true\necho two', 'echo three']),
      folder,
      1,
    );
    assert.notEqual(code, 0);
    assert.doesNotMatch(output, /two|three/);
  });
});

/** As somebody types it who goes on when the server listens; what was started is ended at last. */
function scriptOf(blocks: readonly string[]): string {
  const listens = `until (exec 3<>/dev/tcp/127.0.0.1/${PORT}) 2>/dev/null; do sleep 0.1; done`;
  const waiting = blocks.map((block) =>
    /^bin\/jq-server (?!check|backup|restore)/m.test(block) ? `${block}\n${listens}` : block,
  );
  return ['set -euo pipefail', `trap 'jobs -p | xargs -r kill; wait' EXIT`, ...waiting].join('\n');
}

function run(script: string, cwd: string, port: number): Promise<{ code: number | null; output: string }> {
  const env = { ...process.env, JQ_SERVER: `http://127.0.0.1:${port}` };
  // A group of its own, so that nothing of it is left whatever becomes of it.
  const child = spawn('bash', ['-c', script], {
    cwd,
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (output += data));
  const end = () => {
    try {
      process.kill(-(child.pid as number), 'SIGKILL');
    } catch {
      // All of it has ended.
    }
  };
  const timer = setTimeout(end, LONGEST * 1000);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      clearTimeout(timer);
      end();
      resolve({ code, output });
    });
  });
}
