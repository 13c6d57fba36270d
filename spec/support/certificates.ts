import { execFile } from 'node:child_process';
import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { promisify } from 'node:util';
import { temporaryDirectory } from './server.ts';

const run = promisify(execFile);
const CURVE = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

/** An authority of one specification, by openssl, and what it makes. */
export class Authority {
  /** Its own certificate, as clients are given it. */
  readonly ca: string;
  readonly #folder: string;
  #count = 0;

  private constructor(folder: string) {
    this.#folder = folder;
    this.ca = join(folder, 'ca.pem');
  }

  static async make(t: TestContext): Promise<Authority> {
    const authority = new Authority(await temporaryDirectory(t));
    const out = ['-keyout', join(authority.#folder, 'ca.key'), '-out', authority.ca];
    await run('openssl', ['req', '-x509', ...CURVE, ...out, '-days', '2', '-subj', '/CN=spec authority']);
    return authority;
  }

  /** A certificate of its own and the key of it, for names such as `IP:127.0.0.1`. */
  async certify(
    common: string,
    names = 'IP:127.0.0.1,DNS:localhost',
    is: 'valid' | 'expired' = 'valid',
  ): Promise<{ cert: string; key: string }> {
    const at = (end: string) => join(this.#folder, `${this.#count}.${end}`);
    this.#count++;
    const [cert, key, request, extra] = [at('pem'), at('key'), at('csr'), at('ext')];
    await run('openssl', ['req', ...CURVE, '-keyout', key, '-out', request, '-subj', `/CN=${common}`]);
    await writeFile(extra, `subjectAltName=${names}\n`);
    const signer = ['-CA', this.ca, '-CAkey', join(this.#folder, 'ca.key'), '-CAcreateserial'];
    const sign = [
      'x509',
      '-req',
      '-in',
      request,
      ...signer,
      '-days',
      is === 'valid' ? '2' : '-1',
      '-extfile',
      extra,
      '-out',
      cert,
    ];
    await run('openssl', sign);
    return { cert, key };
  }
}

/** Puts certificate and key where a server looks for them. */
export async function install(
  from: { cert: string; key: string },
  to: { cert: string; key: string },
): Promise<void> {
  await copyFile(from.cert, to.cert);
  await copyFile(from.key, to.key);
}
