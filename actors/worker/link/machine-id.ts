import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { promisify } from 'node:util';

const TIMEOUT_MS = 5_000;

/**
 * What tells this machine from others, hashed, since the id itself is not for everybody to see (machine-id(5)): the
 * system's own id; where there is none, as in some containers, the hardware's and the host name.
 */
export async function machineId(): Promise<string> {
  const id = (await systemId()) ?? `${(await read('/sys/class/dmi/id/product_uuid')) ?? ''}/${hostname()}`;
  return createHash('sha256').update(`jq-worker ${id}`).digest('hex').slice(0, 32);
}

async function systemId(): Promise<string | null> {
  switch (process.platform) {
    case 'darwin':
      return find('ioreg', ['-rd1', '-c', 'IOPlatformExpertDevice'], /"IOPlatformUUID" = "([^"]+)"/);
    case 'win32':
      return find(
        'reg',
        ['query', 'HKLM\\SOFTWARE\\Microsoft\\Cryptography', '/v', 'MachineGuid'],
        /MachineGuid\s+REG_SZ\s+(\S+)/,
      );
    default:
      return (await read('/etc/machine-id')) ?? (await read('/var/lib/dbus/machine-id'));
  }
}

/** Null for a file that is not there, is empty, or waits for the first start of the system. */
async function read(path: string): Promise<string | null> {
  const text = (await readFile(path, 'utf8').catch(() => '')).trim();
  return text === '' || text === 'uninitialized' ? null : text;
}

async function find(program: string, args: string[], pattern: RegExp): Promise<string | null> {
  const run = promisify(execFile)(program, args, { timeout: TIMEOUT_MS });
  const { stdout } = await run.catch(() => ({ stdout: '' }));
  return pattern.exec(stdout)?.[1] ?? null;
}
