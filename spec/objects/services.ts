import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { lacking } from '../support/requires.ts';

/** The interpreter that has the services; see setup.sh. */
const PYTHON = process.env.JQ_TEST_S3 || fileURLToPath(new URL('../../.venv-s3/bin/python', import.meta.url));

const SWIFT = fileURLToPath(new URL('swift_service.py', import.meta.url));

let missing: string | null | undefined;

/** Options of a specification that needs the services. */
export function requiresS3() {
  if (missing === undefined) {
    const found = spawnSync(PYTHON, ['-c', 'import importlib.util as u; assert u.find_spec("swift")']);
    missing = found.status === 0 ? null : 'spec/objects/setup.sh installs it';
  }
  return lacking('S3', missing);
}

/** What the programs and the SDK are told of a service. */
export const CREDENTIALS = {
  AWS_ACCESS_KEY_ID: 'spec:key',
  AWS_SECRET_ACCESS_KEY: 'secret',
  AWS_REGION: 'us-east-1',
  // Nobody's own settings, and no service that gives credentials to machines.
  AWS_CONFIG_FILE: '/dev/null',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
  AWS_EC2_METADATA_DISABLED: 'true',
};

export interface S3Service {
  /** Such as `http://127.0.0.1:1234`. */
  url: string;
  stop(): Promise<void>;
}

/** Swift keeps objects as files. */
export async function startSwift(): Promise<S3Service> {
  const folder = await mkdtemp(join(tmpdir(), 'jq-spec-swift-'));
  const child = spawn(PYTHON, [SWIFT, folder], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [port] = (await once(createInterface(child.stdout), 'line')) as [string];
  const stop = async () => {
    await ended(child);
    await rm(folder, { recursive: true, force: true });
  };
  return { url: `http://127.0.0.1:${port}`, stop };
}

/** moto keeps objects in memory. It knows conditions on writing. */
export async function startMoto(): Promise<S3Service> {
  const code =
    'import sys; from moto.server import ThreadedMotoServer as S; s = S("127.0.0.1", 0, verbose=False); s.start(); ' +
    'print(s.get_host_and_port()[1], flush=True); sys.stdin.read(); s.stop()';
  const child = spawn(PYTHON, ['-c', code], { stdio: ['pipe', 'pipe', 'ignore'] });
  const [port] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { url: `http://127.0.0.1:${port}`, stop: () => ended(child) };
}

/** It ends with its standard input, so that none outlives a specification that was ended. */
async function ended(child: ChildProcess): Promise<void> {
  child.stdin?.end();
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}
