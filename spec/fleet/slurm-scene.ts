import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { pino } from 'pino';
import { openFleet } from '../../bin/programs/fleet.ts';
import { readFleet } from '../../machines/fleet/file.ts';
import { pipelines } from '../support/job.ts';
import { processesWith } from '../support/program.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';
import { until } from '../support/until.ts';

/** A runner in shell that goes on until there is a file beside it. */
const RUNNER = `#!/bin/sh
while [ ! -e "$0.go" ]; do sleep 0.1; done
echo '{"status":"succeeded","metrics":{"best_rmse":1}}' > "$8"
`;

/** A server, and a fleet in Slurm for `slow.run`, whose tasks go on until they are let go. */
export async function slurmScene(t: TestContext, slurm: Record<string, unknown> = {}, template: object = {}) {
  const server = await startTestServer(t, { heartbeatInterval: 1, leaseTtl: 6, workerDeadAfter: 6 });
  const state = await temporaryDirectory(t);
  const runner = join(state, 'run.sh');
  await mkdir(join(state, 'lab'));
  await writeFile(runner, RUNNER, { mode: 0o755 });
  const name = `lab${Math.random().toString(36).slice(2, 8)}`;
  const cpu = { name: 'cpu', engine: 'slurm', max: 2, memory_gb: 0.4, walltime: '10min', idle: '3s' };
  const worker = ['--runner', `slow@1.0=sh ${runner}`, '--grace', '0'];
  const templates = [{ ...cpu, packages: { slow: '1.0' }, worker, slurm, ...template }];
  const read = readFleet({ name, state: join(state, 'lab'), templates });
  assert.ok('fleet' in read, JSON.stringify(read));
  const { fleet } = read;
  const open = () =>
    openFleet({
      ...{ fleet, client: server.client, workerFlags: ['--server', server.url] },
      log: pino({ level: 'silent' }),
    });
  let keeper = await open();
  const round = () => keeper.round();
  const tasksBy = async () => (await server.client.call('getStats')).tasks_by_status;
  /** Rounds until something holds. */
  const rounds = (what: string, holds: () => Promise<boolean>, seconds = 60) =>
    until(
      what,
      async () => {
        await keeper.round();
        return holds();
      },
      seconds,
    );
  t.after(async () => {
    await writeFile(`${runner}.go`, '').catch(() => {});
    for (const pid of processesWith(state)) process.kill(pid, 'SIGKILL');
  });
  return {
    ...{ server, state, fleet, round, rounds, name: `jq.${name}.cpu.` },
    letGo: () => writeFile(`${runner}.go`, ''),
    have: async (count: number) => (await tasksBy()).succeeded === count,
    end: () => keeper.end(),
    plan: async () => (await keeper.look()).plan.templates[0],
    restart: async () => {
      keeper = await open();
    },
    runs: (count: number) =>
      rounds(`${count} tasks to run`, async () => ((await tasksBy()).running ?? 0) === count),
    succeed: (count: number) =>
      rounds(`${count} tasks to succeed`, async () => (await tasksBy()).succeeded === count),
    submit: (count: number, max_attempts = 1) =>
      server.client.call('submitJob', {
        body: {
          type: 'slow.run',
          pipelines: pipelines(count),
          dataset: { kind: 'worker_local', path: state },
          retry: { max_attempts },
        },
      }),
  };
}
