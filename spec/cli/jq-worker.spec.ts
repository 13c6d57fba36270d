import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { quietPort } from '../support/program.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';
import { run, start } from './cli-support.ts';
import { jobOf } from './played-worker.ts';
import { isOneSentence } from './serving.ts';

describe('jq-worker', () => {
  it('registers with what the command line says, and ends with 0 at SIGTERM', async (t) => {
    const server = await startTestServer(t);
    const state = join(await temporaryDirectory(t), 'state');
    const flags = ['--slots', '3', '--name', 'bench', '--labels', 'site=lab-a,gpu=no', '--labels', 'x=1'];
    const declared = ['--memory-gb', '7.5', '--gpus', '2', '--dataset', `corn=${dirname(state)}`];
    const { child, outcome, said } = start('jq-worker', ['--state', state, '--json', ...flags, ...declared], {
      JQ_SERVER: server.url,
    });
    await until('the worker', () => said.stdout.includes('\n'));
    const { event, worker_id } = JSON.parse(said.stdout.split('\n')[0] ?? '');
    assert.equal(event, 'started');
    const [worker] = await server.client.call('listWorkers');
    assert.equal(worker?.id, worker_id);
    assert.equal(worker?.name, 'bench');
    assert.equal(worker?.slots_total, 3);
    assert.deepEqual(worker?.labels, {
      site: 'lab-a',
      gpu: 'no',
      x: '1',
      'dataset.corn': 'true',
      'predict.mljs': 'true',
    });
    assert.equal(worker?.capabilities.memory_gb, 7.5);
    assert.equal(worker?.capabilities.gpu_count, 2);
    child.kill('SIGTERM');
    assert.equal((await outcome).code, 0);
  });

  it('refused by the server, exits with 3', async (t) => {
    const server = await startTestServer(t, { principals: ['ann:s3cret:submitter'] });
    const state = await temporaryDirectory(t);
    for (const token of ['wrong', 's3cret']) {
      const argv = ['worker', '--server', server.url, '--state', state, '--log-level', 'silent'];
      const { code, stdout, stderr } = await run([...argv, '--token', token]);
      assert.equal(code, 3);
      assert.equal(stdout, '');
      assert.match(stderr, /^error: .*\n.*--token or JQ_TOKEN\n$/);
    }
  });

  const unusable: [title: string, flags: string[], says: RegExp][] = [
    [
      'a runner whose program is not there',
      ['--runner', 'mean=/no/such/cmd x'],
      /'\/no\/such\/cmd' \(for mean\)/,
    ],
    [
      'a runner whose program is not on the path',
      ['--runner', 'mean=no-such-cmd'],
      /no program 'no-such-cmd'/,
    ],
    ['a runner whose program may not be executed', ['--runner', 'mean=./package.json'], /package\.json/],
    [
      'a dataset that is not there',
      ['--dataset', 'bad=/no/where'],
      /--dataset bad: there is no.*: \/no\/where/,
    ],
    ['a catalog that is not there', ['--catalog', '/no/such.yaml'], /--catalog: .*\/no\/such\.yaml/],
    ['a catalog that is no text of its kind', ['--catalog', 'LICENSE'], /--catalog: .*neither JSON nor YAML/],
    ['a catalog that is no list', ['--catalog', 'package.json'], /--catalog: the catalog is not a list/],
  ];
  for (const [title, flags, says] of unusable) {
    it(`refuses to start with ${title}: exit code 2`, async (t) => {
      const state = join(await temporaryDirectory(t), 'state');
      const server = ['--server', 'http://127.0.0.1:9'];
      isOneSentence(
        await run(['worker', '--state', state, ...server, '--log-level', 'silent', ...flags]),
        says,
      );
    });
  }

  it('warns of what may start to work later, and starts', async (t) => {
    const server = await startTestServer(t);
    const folder = await temporaryDirectory(t);
    const catalog = join(folder, 'sets.yaml');
    await writeFile(catalog, '- {id: corn, version: 1, path: corn.zip}');
    for (const [named, warning] of [
      ['http://127.0.0.1:9/sets.yaml', /cannot be reached at http:\/\/127\.0\.0\.1:9\/sets\.yaml/],
      [catalog, /entry of corn@1 has no sha256/],
    ] as const) {
      const argv = ['--state', join(folder, 'state'), '--server', server.url, '--catalog', named];
      const { child, outcome, said } = start('jq-worker', [
        ...argv,
        '--json',
        '--runner',
        'x=sh ./no/such.sh',
      ]);
      await until('the worker', () => said.stdout.includes('"started"'));
      child.kill('SIGTERM');
      const { code, stderr } = await outcome;
      assert.equal(code, 0);
      assert.match(stderr, warning);
      assert.match(stderr, /"word":"\.\/no\/such\.sh".*names no file/);
    }
  });

  it('gives a task that has to stop the time of --cancel-grace', async (t) => {
    const server = await startTestServer(t);
    const folder = await temporaryDirectory(t);
    const [script, begun, saved] = ['slow.sh', 'begun', 'saved'].map((name) => join(folder, name)) as [
      string,
      string,
      string,
    ];
    // Longer than the grace period that a task has otherwise.
    await writeFile(
      script,
      `trap 'sleep 6; touch ${saved}; exit' TERM\ntouch ${begun}\nwhile :; do sleep 0.05; done`,
    );
    const flags = ['--server', server.url, '--cancel-grace', '60', '--runner', `slow=sh ${script}`];
    const { child, outcome } = start('jq-worker', ['--state', join(folder, 'state'), ...flags]);
    const text = jobOf('p.yaml').replace('mljs', 'slow').replace('data/corn', folder);
    const { id } = await server.client.call('submitJob', {
      text: text.replace(/\{"kind":"path"[^}]*\}/, '{"kind":"inline_json","inline":[]}'),
    });
    await until('the task', () => existsSync(begun));
    await server.client.call('cancelJob', { params: { id } });
    await until('its own end', () => existsSync(saved));
    child.kill('SIGTERM');
    assert.equal((await outcome).code, 0);
  });

  it('gives back what it runs when the time of --grace is over after SIGTERM, and exits with 0', async (t) => {
    const server = await startTestServer(t);
    const folder = await temporaryDirectory(t);
    const [script, begun] = ['slow.sh', 'begun'].map((name) => join(folder, name)) as [string, string];
    await writeFile(script, `echo $$ > ${begun}.part; mv ${begun}.part ${begun}; exec sleep 3600`);
    const flags = ['--server', server.url, '--grace', '0.5', '--runner', `slow=sh ${script}`];
    const { child, outcome, said } = start('jq-worker', ['--state', join(folder, 'state'), ...flags]);
    const text = jobOf('p.yaml').replace('mljs', 'slow').replace('data/corn', folder);
    const spec = JSON.parse(text.replace(/\{"kind":"path"[^}]*\}/, '{"kind":"inline_json","inline":[]}'));
    const { id } = await server.client.call('submitJob', { body: { ...spec, retry: { max_attempts: 1 } } });
    await until('the task', () => existsSync(begun));
    const pid = Number(readFileSync(begun, 'utf8'));
    child.kill('SIGTERM');
    assert.equal((await outcome).code, 0);
    assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
    const [task] = await server.client.call('listJobTasks', { params: { id } });
    assert.deepEqual([task?.status, task?.attempt, task?.max_attempts], ['queued', 1, 2]);
    assert.match(said.stderr, /gives back what it runs/);
    assert.match(said.stderr, /task given back/);
  });

  it('without its state directory exits with 2', async (t) => {
    const folder = join(await temporaryDirectory(t), 'file');
    await mkdir(join(folder, '..'), { recursive: true });
    await writeFile(folder, '');
    const state = join(folder, 'state');
    isOneSentence(
      await run(['worker', '--state', state, '--log-level', 'silent']),
      /state directory.*--state/,
    );
  });

  it('waits for a server that is away, and registers once it is there', async (t) => {
    const early = await startTestServer(t, { port: await quietPort() });
    await early.stop();
    const state = join(await temporaryDirectory(t), 'state');
    const argv = ['--state', state, '--json', '--server', early.url, '--log-level', 'silent'];
    const { child, outcome, said } = start('jq-worker', argv);
    await until('the first try', () => /"started".*"worker_id":null/.test(said.stdout));
    const late = await startTestServer(t, { state: early.stateDir, port: early.port });
    await until('the worker', async () => (await late.client.call('listWorkers')).length === 1);
    await until('the word of it', () => /"registered","worker_id":"worker_/.test(said.stdout));
    child.kill('SIGINT');
    assert.equal((await outcome).code, 0);
  });
});
