import { spawn } from 'node:child_process';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { MadeBackup } from '../../actors/server/backup/backup.ts';

const PROGRAM = fileURLToPath(new URL('../jq-server', import.meta.url));
/** How much it stands behind the server for the processors (nice). */
const PRIORITY = 10;
/** Characters of what it says beside its result that are kept, the last ones. */
const KEPT = 64 * 1024;

/**
 * Makes a backup in a process of its own, so that reading and hashing take nothing of this one's event loop.
 * @throws Error with the sentence that it ended with
 */
export async function backupInProcess(
  { state, to, keep }: { state: string; to: string; keep: number },
  signal: AbortSignal,
): Promise<MadeBackup> {
  const args = ['backup', '--state', state, '--to', to, '--keep', `${keep}`, '--json'];
  const child = spawn(process.execPath, [PROGRAM, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
    killSignal: 'SIGTERM',
  });
  try {
    if (child.pid !== undefined) setPriority(child.pid, PRIORITY);
  } catch {
    // It has ended already, or the system does not let it: then it runs like any other.
  }
  const said = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.stderr = (said.stderr + text).slice(-KEPT);
  });
  const ended = await new Promise<string>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, killed) => resolve(killed ?? `code ${code}`));
  });
  // With code 1 there is a backup, in which something is damaged.
  if (ended === 'code 0' || ended === 'code 1') return JSON.parse(said.stdout) as MadeBackup;
  const error = /^error: (.*)$/m.exec(said.stderr)?.[1];
  throw new Error(error ?? `the process that makes the backup ended (${ended})`);
}
