import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { processTable } from '../../actors/worker/child/proc.ts';
import { externalRunner, RunnerError } from '../../actors/worker/runners/external/index.ts';
import { splitCommand } from '../../actors/worker/runners/external/split.ts';
import { requires } from '../support/requires.ts';
import { startTestServer } from '../support/server.ts';
import { temporaryFolder } from '../worker/folder.ts';
import { logOf, startTestWorker, submit, taskIn } from '../worker/support.ts';

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const GASOLINE = join(REPOSITORY, 'examples/gasoline');
const MEAN = 'mean@1.0=python3 ./examples/runners/mean.py';
const WARM = 'warm=python3 ./examples/runners/warm.py --serve';
const ROWS = 'rows=./examples/runners/rows.sh';

describe('a runner of your own: LIB=COMMAND', () => {
  it('names the library, its version and the words of the command', () => {
    assert.deepEqual(externalRunner('r_pls@2.8=Rscript --vanilla "my script.R" a=b', '/'), {
      library: 'r_pls',
      command: ['Rscript', '--vanilla', 'my script.R', 'a=b'],
      packages: { r_pls: '2.8' },
    });
  });

  it('without a version declares the library as merely present', () => {
    assert.deepEqual(externalRunner('rows=wc').packages, { rows: 'unknown' });
  });

  it('can be kept warm where its command ends with --serve, which is no part of it', () => {
    const { command, serves } = externalRunner('x=python3 run.py --serve', '/');
    assert.deepEqual([command, serves], [['python3', 'run.py'], true]);
    assert.equal(externalRunner('x=tool --serve --fast', '/').serves, undefined);
    assert.deepEqual(externalRunner('x=--serve', '/').command, ['--serve']);
  });

  it('predicts, too, where its command ends with --predict, beside --serve in any order', () => {
    const { command, predicts, serves } = externalRunner('x=python3 run.py --predict', '/');
    assert.deepEqual([command, predicts, serves], [['python3', 'run.py'], true, undefined]);
    for (const both of ['--predict --serve', '--serve --predict']) {
      const runner = externalRunner(`x=python3 run.py ${both}`, '/');
      assert.deepEqual([runner.command, runner.predicts, runner.serves], [['python3', 'run.py'], true, true]);
    }
    assert.equal(externalRunner('x=tool --predict --fast', '/').predicts, undefined);
  });

  it('counts paths of existing files from where the worker was started, as tasks run elsewhere', async (t) => {
    const folder = await temporaryFolder(t);
    await mkdir(join(folder, 'bin'));
    for (const name of ['bin/tool', 'script.py', 'plain']) await writeFile(join(folder, name), '');
    const { command } = externalRunner('x=bin/tool ./script.py plain bin ./missing /etc/hosts -I/x', folder);
    assert.deepEqual(command, [
      join(folder, 'bin/tool'),
      join(folder, 'script.py'),
      'plain',
      'bin',
      './missing',
      '/etc/hosts',
      '-I/x',
    ]);
  });

  const refused: Record<string, RegExp> = {
    mean: /'mean' is not of the form LIB=COMMAND/,
    'Mean=python3 x': /'Mean' is not a library name/,
    '=python3 x': /'' is not a library name/,
    'mean@=python3': /'' is not a version \(of mean\)/,
    'mean= ': /the command of mean is empty/,
    'mean=""': /the command of mean is empty/,
    'mean=sh -c "open': /mean: a quotation mark is not closed/,
  };
  for (const [description, reason] of Object.entries(refused)) {
    it(`refuses ${description}`, () => {
      assert.throws(
        () => externalRunner(description),
        (fault) => fault instanceof RunnerError && reason.test(fault.message),
      );
    });
  }
});

describe('the words of a command line', () => {
  const lines: [string, string[] | null][] = [
    ['', []],
    ['  a \t b\n', ['a', 'b']],
    ["'a b' c", ['a b', 'c']],
    ['"a b"c\'d e\'', ['a bcd e']],
    ['a\\ b', ['a b']],
    ["''", ['']],
    ['"say \\"hi\\" \\n $HOME"', ['say "hi" \\n $HOME']],
    ["'it'\\''s'", ["it's"]],
    ['*.csv $HOME | cat', ['*.csv', '$HOME', '|', 'cat']],
    ["'open", null],
    ['"open', null],
    ['end\\', null],
  ];
  for (const [line, words] of lines) {
    it(`${JSON.stringify(line)} ${words ? `are ${JSON.stringify(words)}` : 'end too early'}`, () => {
      assert.deepEqual(splitCommand(line), words);
    });
  }
});

describe('the example runners, each in a real worker', () => {
  const dataset = { kind: 'shared_path', path: GASOLINE };

  it(
    'mean.py, in Python, is ranked, reports progress and exports its model',
    requires('python3'),
    async (t) => {
      const server = await startTestServer(t);
      await startTestWorker(t, server, { runners: [externalRunner(MEAN, REPOSITORY)] });
      const requirements = { packages: { mean: '>=1,<2' } };
      const job = await submit(server, {}, { type: 'mean.run', dataset, requirements });
      const task = await taskIn(server, job);
      assert.equal(task.error, null);
      const { result } = task;
      const { metrics, mean_version } = result as { metrics: { best_rmse: number }; mean_version: string };
      assert.equal(metrics.best_rmse.toFixed(3), '1.517');
      assert.equal(mean_version, '1.0');
      const artifacts = await server.client.call('listJobArtifacts', { params: { id: job } });
      const model = artifacts.find((artifact) => artifact.role === 'best_model');
      const { body } = await server.client.download(model?.id ?? '');
      assert.equal(JSON.parse(await text(body)).mean.toFixed(4), '87.1775');
      const events = await server.client.call('listJobEvents', { params: { id: job } });
      assert.ok(events.some(({ type, message }) => type === 'progress' && message === '60 values read'));
    },
  );

  it(
    'mean.py predicts with the model that it made, by a worker that says so',
    requires('python3'),
    async (t) => {
      const server = await startTestServer(t);
      const folder = await temporaryFolder(t);
      await writeFile(join(folder, 'new.csv'), '900,902\n1,2\n3,4\n');
      await startTestWorker(t, server, { runners: [externalRunner(`${MEAN} --predict`, REPOSITORY)] });
      const made = await submit(server, {}, { type: 'mean.run', dataset });
      await taskIn(server, made);
      const { id } = await server.client.call('submitJob', {
        body: {
          type: 'mean.predict',
          model: { kind: 'best_model', job_id: made },
          dataset: { kind: 'shared_path', path: folder },
        },
      });
      const { error, result } = await taskIn(server, id);
      assert.equal(error, null);
      assert.deepEqual(result?.counts, { num_predictions: 2 });
      const artifacts = await server.client.call('listJobArtifacts', { params: { id } });
      const found = artifacts.find(({ role }) => role === 'predictions');
      const { body } = await server.client.download(found?.id ?? '');
      assert.match(await text(body), /^sample,.*\n1,predicted,,,87\.1775\d*,\n2,predicted,,,87\.1775\d*,\n$/);
    },
  );

  it(
    'warm.py, in Python, is forked from a process that has loaded its library, unless the worker starts it cold',
    requires('python3', 'proc'),
    async (t) => {
      const server = await startTestServer(t);
      for (const cold of [false, true]) {
        const state = await temporaryFolder(t);
        const worker = await startTestWorker(t, server, {
          state,
          cold,
          runners: [externalRunner(WARM, REPOSITORY)],
        });
        const hosts = () =>
          processTable().filter(({ pid }) => commandOf(pid).endsWith('/examples/runners/warm.py\0--serve\0'));
        const before = hosts().length;
        for (let i = 0; i < 2; i++) {
          const job = await submit(server, {}, { type: 'warm.run', dataset });
          const task = await taskIn(server, job);
          assert.equal(task.error, null);
          const { metrics } = task.result as { metrics: { best_rmse: number } };
          assert.equal(metrics.best_rmse.toFixed(3), '1.517');
          assert.doesNotMatch(await logOf(server, job), /started cold/);
        }
        assert.equal(hosts().length - before, cold ? 0 : 1);
        await worker.stop();
        assert.equal(hosts().length, before);
      }
    },
  );

  it('rows.sh, in shell, counts rows', async (t) => {
    const server = await startTestServer(t);
    await startTestWorker(t, server, { runners: [externalRunner(ROWS, REPOSITORY)] });
    const job = await submit(server, {}, { type: 'rows.run', dataset, rank_metric: 'best_score' });
    const { result } = await taskIn(server, job);
    assert.deepEqual(result?.counts, { rows: 122 });
    assert.match(await logOf(server, job), /counting/);
  });

  it('rows.sh fails at once, without another attempt, for a dataset that is no folder', async (t) => {
    const server = await startTestServer(t);
    await startTestWorker(t, server, { runners: [externalRunner(ROWS, REPOSITORY)] });
    const file = { kind: 'shared_path', path: join(GASOLINE, 'train_y.csv') };
    const task = await taskIn(server, await submit(server, {}, { type: 'rows.run', dataset: file }));
    assert.equal(task.status, 'failed');
    assert.match(String(task.error), /the dataset is not a folder/);
    assert.equal(task.attempt, 1);
  });
});
