import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { routeList } from '../../gateway/contract/routes.ts';
import { pythonClient } from '../../gateway/python/wheel.ts';
import { PYTHON } from '../nirs4all/where.ts';
import { ROOT } from '../support/program.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { needsModules, python } from './python.ts';
import { startWorker } from './worker.ts';

const CHECKS = {
  by_index: 'rows of spectra and reference values belong together by their index',
  contradictions: 'frames whose indexes contradict each other are refused',
  names: 'samples keep their names, of an index or of a column',
  reference_values: "what is predicted has the column of the model's target beside it",
};

describe('frames of pandas', needsModules('pandas', 'pandas', 'numpy'), () => {
  it('are datasets', async (t) => {
    const server = await startTestServer(t);
    await startWorker(t, server);
    const folder = await temporaryDirectory(t);
    const { wheel } = await pythonClient(routeList);
    const client = join(folder, wheel.name);
    await writeFile(client, wheel.bytes);
    for (const [name, title] of Object.entries(CHECKS)) {
      await t.test(title, async () => {
        const program = join(ROOT, 'spec/python/frames.py');
        const env = { JQ_SERVER: server.url, PYTHONPATH: client };
        const { code, stderr } = await python(PYTHON, ['-W', 'error', program, name], env);
        assert.equal(code, 0, stderr);
      });
    }
  });
});
