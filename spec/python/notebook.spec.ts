import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { routeList } from '../../gateway/contract/routes.ts';
import { pythonClient } from '../../gateway/python/wheel.ts';
import { launchBrowser } from '../dashboard/browser.ts';
import { PYTHON } from '../nirs4all/where.ts';
import { ROOT } from '../support/program.ts';
import { requires } from '../support/requires.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { needsModules, python } from './python.ts';
import { startWorker } from './worker.ts';

const NOTEBOOK = join(ROOT, 'examples/python/gasoline.ipynb');

interface Output {
  text?: string | null;
  'text/plain'?: string | null;
  'text/html'?: string | null;
}

/** Runs a notebook against a server whose worker has both libraries; what it gave, and a page of it. */
async function ran(t: TestContext, notebook = NOTEBOOK): Promise<{ outputs: Output[]; page: string }> {
  const server = await startTestServer(t);
  await startWorker(t, server, ['--python', PYTHON]);
  const folder = await temporaryDirectory(t);
  const { wheel } = await pythonClient(routeList);
  const [client, page] = [join(folder, wheel.name), join(folder, 'notebook.html')];
  await writeFile(client, wheel.bytes);
  const env = { JQ_SERVER: server.url, PYTHONPATH: client, IPYTHONDIR: folder, JUPYTER_DATA_DIR: folder };
  const said = await python(PYTHON, [join(ROOT, 'spec/python/run_notebook.py'), notebook, page], env);
  assert.equal(said.code, 0, said.stderr);
  return { outputs: JSON.parse(said.stdout) as Output[], page };
}

const cellOf = (id: string, lines: string[]) => ({
  ...{ cell_type: 'code', execution_count: null, id, metadata: {}, outputs: [] },
  source: lines.join('\n'),
});

async function notebookOf(t: TestContext, cells: ReturnType<typeof cellOf>[]): Promise<string> {
  const path = join(await temporaryDirectory(t), 'cells.ipynb');
  await writeFile(path, JSON.stringify({ cells, metadata: {}, nbformat: 4, nbformat_minor: 5 }));
  return path;
}

const needsNotebooks = needsModules('notebooks', 'nbclient', 'nbconvert', 'ipykernel', 'pandas', 'nirs4all');

describe('the notebook of the examples', needsNotebooks, () => {
  it('runs as it is, with both libraries', async (t) => {
    const { outputs } = await ran(t);
    const texts = outputs.map((output) => output.text ?? output['text/plain'] ?? '').join('\n');
    assert.match(texts, /pipeline +best_rmse +best_r2 +components\n1 +plain +0\.2191/, 'the ranking');
    assert.match(texts, /^1 components: RMSE 1\.238$/m, 'the sweep');
    assert.match(texts, /PLSRegression\(n_components=4\) +0\.\d+/, 'objects of scikit-learn');
    assert.match(texts, /best_model\.n4a/);
    assert.match(texts, /job_\w+ failed: .* has no pls step/, 'the sentence of the library');
    const cards = outputs
      .map((output) => output['text/html'] ?? '')
      .filter((html) => html.includes('progressbar'));
    assert.equal(cards.length, 2, 'a card that follows a job is not shown twice');
    for (const card of cards) assert.match(card, />succeeded</, 'and it does so until the end');
  });

  it('leaves a card as the job ended where the last cell waits without showing that', async (t) => {
    const cells = [
      [
        'from jq_cluster import Cluster',
        `job = Cluster().run(["snv", {"pls": {"components": 2}}], ${JSON.stringify(join(ROOT, 'examples/gasoline'))}, lib="mljs")`,
        // The card looks again only after a while, as it does at a job that takes long.
        'job.pauses = lambda timeout=None: iter([0.01, 600])',
        'job',
      ],
      ['del job.pauses', 'job.wait(progress=False).status'],
    ].map((lines, i) => cellOf(`cell${i}`, lines));
    const { outputs } = await ran(t, await notebookOf(t, cells));
    const [card] = outputs.filter((output) => output['text/html']?.includes('progressbar'));
    assert.match(card?.['text/html'] ?? '', />succeeded</);
    assert.match(card?.['text/plain'] ?? '', /^<Job job_\w+: succeeded, 1 of 1 tasks succeeded>$/);
  });

  it('has one card where a cell ends with waiting', async (t) => {
    const lines = [
      'from jq_cluster import Cluster',
      'steps = ["snv", {"pls": {"components": 2}}]',
      `Cluster().run(steps, ${JSON.stringify(join(ROOT, 'examples/gasoline'))}, lib="mljs").wait()`,
    ];
    const cells = [cellOf('one', lines), cellOf('two', ['Cluster().jobs(1)[0]'])];
    const { outputs } = await ran(t, await notebookOf(t, cells));
    const cards = outputs.filter((output) => output['text/html']?.includes('progressbar'));
    assert.equal(cards.length, 2, 'that of the wait, and that of the other cell');
    for (const card of cards) assert.match(card['text/html'] ?? '', />succeeded</);
  });

  it('shows its cards in a browser', requires('chromium'), async (t) => {
    const { page: file } = await ran(t);
    const browser = await launchBrowser();
    t.after(() => browser.close());
    const page = await browser.newPage({ viewport: { width: 1000, height: 900 } });
    await page.route(/^https?:/, (route) => route.abort());
    await page.goto(pathToFileURL(file).href, { waitUntil: 'domcontentloaded' });
    const bar = page.getByRole('progressbar', { name: 'tasks of gasoline from a notebook' });
    assert.deepEqual(
      [await bar.getAttribute('aria-valuenow'), await bar.getAttribute('aria-valuemax')],
      ['4', '4'],
    );
    const [whole, done] = [await bar.boundingBox(), await bar.locator('div').first().boundingBox()];
    assert.ok(whole && done && whole.width > 400 && Math.abs(whole.width - done.width) < 1, 'it is full');
    const rows = page.locator('table', { hasText: 'derivative' }).first().locator('tbody tr');
    assert.equal(await rows.count(), 4);
    assert.match((await rows.first().textContent()) ?? '', /plain0\.2191/);
  });
});
