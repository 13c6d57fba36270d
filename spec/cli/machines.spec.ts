import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createMachine } from 'xstate';
import { drawMachine } from '../../gateway/contract/machine-views.ts';
import { MACHINES } from '../../machines/charts/catalogue.ts';
import { chartOf } from '../../machines/charts/graph.ts';
import { MACHINE_NAMES } from '../../machines/charts/names.ts';
import { run } from './cli-support.ts';
import { fakeServer } from './fake-server.ts';
import { scene } from './scene.ts';

const NOBODY = 'http://127.0.0.1:1';

describe('machines', () => {
  it('lists every statechart, with how many actors are in each state', async (t) => {
    const { ctl, submit, play } = await scene(t);
    const worker = await play();
    await submit('a.yaml', 'b.yaml', 'c.yaml');
    await worker.take();
    const { code, stdout } = await ctl('machines');
    assert.equal(code, 0);
    for (const name of MACHINE_NAMES) assert.match(stdout, new RegExp(`^${name} `, 'm'));
    assert.match(stdout, /^job .* 1 running /m);
    assert.match(stdout, /^task .* 2 queued, 1 running|^task .* 1 running, 2 queued/m);
    assert.match(stdout, /^worker .* 1 alive /m);
  });

  for (const format of ['mermaid', 'ascii'] as const) {
    it(`prints one as ${format}, from the server and with --local alike`, async (t) => {
      const { ctl } = await scene(t);
      const asked = await ctl('machines', 'task', '--format', format);
      assert.deepEqual(asked, { code: 0, stdout: drawMachine('task', format), stderr: '' });
      const local = await run(['machines', 'task', '--format', format, '--local', '--server', NOBODY]);
      assert.deepEqual(local, asked);
    });
  }

  it('prints one as text when no format is named', async () => {
    const { stdout } = await run(['machines', 'worker', '--local']);
    assert.equal(stdout, drawMachine('worker', 'ascii'));
  });

  it('prints a definition that createMachine rebuilds, state by state', async (t) => {
    const { server } = await scene(t);
    for (const argv of [['--format', 'xstate'], ['--json']]) {
      for (const where of [['--server', server.url], ['--local']]) {
        const { code, stdout } = await run(['machines', 'job', ...argv, ...where]);
        assert.equal(code, 0);
        assert.deepEqual(chartOf(createMachine(JSON.parse(stdout)) as never), chartOf(MACHINES.job.machine));
      }
    }
  });

  it('prints all of them in a format when none is named: a definition a line, diagrams with their names', async () => {
    const definitions = await run(['machines', '--format', 'xstate', '--local']);
    const ids = definitions.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line).id);
    assert.deepEqual(ids, [...MACHINE_NAMES]);
    const { stdout } = await run(['machines', '--format', 'mermaid', '--local']);
    for (const name of MACHINE_NAMES)
      assert.ok(stdout.includes(`%% ${name}\n${drawMachine(name, 'mermaid')}`));
  });

  it('under --json lists them as one document, as the server sends it', async (t) => {
    const { ctl } = await scene(t);
    const { stdout } = await ctl('machines', '--json');
    const machines = JSON.parse(stdout);
    assert.deepEqual(
      machines.map((machine: { name: string }) => machine.name),
      [...MACHINE_NAMES],
    );
    assert.equal(machines[0].counts['job.queued'], 0);
  });

  for (const [title, argv, says] of [
    ['an unknown machine', ['machines', 'toaster'], /machine: 'toaster' is none of job, task, worker/],
    ['an unknown format', ['machines', 'job', '--format', 'svg'], /--format: 'svg' is none of xstate/],
    ['a diagram as JSON', ['machines', 'job', '--json', '--format', 'mermaid'], /does not go with --format/],
  ] as const) {
    it(`of ${title}: exit code 2`, async () => {
      const { code, stdout, stderr } = await run([...argv]);
      assert.deepEqual([code, stdout], [2, '']);
      assert.match(stderr, says);
    });
  }

  it('lets no server control the terminal', async () => {
    const body = `a\u001b[2J\u009b31m\nb\u202e`;
    const server = await fakeServer({ 'GET /v1/machines/job': { body } });
    const { stdout } = await run(['machines', 'job', '--server', server.url]);
    await server.stop();
    assert.equal(stdout, 'a\\x1b[2J\\x9b31m\nb\\u202e\n');
  });
});
