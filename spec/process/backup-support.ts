import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { MadeBackup } from '../../actors/server/backup/backup.ts';
import type { BackupReport } from '../../actors/server/backup/report.ts';
import { objectPath } from '../../actors/server/blobs/paths.ts';
import { type Outcome, run } from '../cli/cli-support.ts';
import { clientOf } from '../support/client.ts';
import { sweep } from '../support/job.ts';
import { temporaryDirectory } from '../support/server.ts';
import { type ServerProgramOptions, startServerProgram } from '../support/server-program.ts';
import { sha256 } from '../support/sha256.ts';

/** A folder of a test's own, with places for a state directory, backups, and what is restored. */
export async function places(t: TestContext) {
  const root = await temporaryDirectory(t);
  return { root, state: join(root, 'state'), to: join(root, 'backups'), restored: join(root, 'restored') };
}

const program = (argv: string[]): Promise<Outcome> => run(argv, { program: 'jq-server' });

export const backup = (state: string, to: string, ...flags: string[]): Promise<Outcome> =>
  program(['backup', '--state', state, '--to', to, ...flags]);

export const restore = (from: string, state: string, ...flags: string[]): Promise<Outcome> =>
  program(['restore', '--from', from, '--state', state, ...flags]);

export const check = (state: string): Promise<Outcome> => program(['check', '--state', state]);

/** A backup that is made without a complaint, and what is said of it. */
export async function made(state: string, to: string, ...flags: string[]): Promise<MadeBackup> {
  const { code, stdout, stderr } = await backup(state, to, '--json', ...flags);
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as MadeBackup;
}

/** Restores without a complaint. */
export async function restored(from: string, state: string): Promise<BackupReport> {
  const { code, stdout, stderr } = await restore(from, state, '--json');
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as BackupReport;
}

/** The backups in a folder by their names; of a folder that is not there, none. */
export const namesIn = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder)
        .filter((name) => /^\d{4}-/.test(name))
        .sort()
    : [];

export const pathOf = (directory: string, bytes: Buffer): string =>
  join(directory, objectPath(sha256(bytes)));

export const inodeOf = (path: string): number => statSync(path).ino;

/** Turns one bit of a file. */
export function rot(path: string): void {
  const bytes = readFileSync(path);
  const at = Math.floor(bytes.length / 2);
  bytes[at] = (bytes[at] as number) ^ 1;
  writeFileSync(path, bytes);
}

/** A server process on a state directory, and a client and a worker by hand. */
export async function serve(t: TestContext, root: string, options: ServerProgramOptions) {
  const server = await startServerProgram(options);
  t.after(() => server.kill());
  const client = clientOf(t, server.url);
  let files = 0;
  return {
    server,
    client,
    submit: async (tasks = 1): Promise<string> => {
      const text = JSON.stringify(sweep(tasks, { dataset: { kind: 'shared_path', path: root } }));
      return (await client.call('submitJob', { text })).id;
    },
    upload: async (bytes = randomBytes(1000)) => {
      const file = join(root, `upload-${files++}-${randomBytes(4).toString('hex')}`);
      writeFileSync(file, bytes);
      const { artifact_id } = await client.upload('uploadArtifact', { file });
      return { bytes, artifact_id };
    },
    register: async (worker_id?: string): Promise<string> => {
      const body = {
        version: { packages: { demo: '1' } },
        slots_total: 100,
        ...(worker_id && { worker_id }),
      };
      return (await client.call('registerWorker', { body })).worker_id;
    },
    lease: async (worker: string, wait_s = 0) => {
      const { task } = await client.call('lease', { params: { id: worker }, body: { wait_s } });
      assert.ok(task);
      return task;
    },
    start: (task: string, worker_id: string, attempt: number) =>
      client.call('startTask', { params: { id: task }, query: { worker_id, attempt } }),
    complete: (task: string, worker_id: string, attempt: number) =>
      client.call('completeTask', {
        params: { id: task },
        query: { worker_id, attempt },
        body: { metrics: { best_rmse: 1 } },
      }),
  };
}
