import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { StartError } from '../../machines/protocol/start-error.ts';

/** Paths of what a server shows its clients, both in PEM. */
export interface TlsFiles {
  /** The certificate, and behind it those that lead to the authority, if there are any. */
  readonly cert: string;
  /** The private key of the certificate, without a passphrase. */
  readonly key: string;
}

/** What the files hold, found to belong together. */
export interface Tls {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** When the certificate expires, seconds since the epoch. */
  readonly expiresAt: number;
  /** Whose it is, such as `CN=queue.lab`. */
  readonly subject: string;
}

/** Whether clients would see no difference. */
export const isSame = (one: Tls, other: Tls): boolean =>
  one.cert.equals(other.cert) && one.key.equals(other.key);

/**
 * Reads what a server shows its clients.
 * @throws StartError `bad_tls` that says what is wrong with which file; never with anything of the key
 */
export function readTls(files: TlsFiles): Tls {
  const [cert, key] = [read(files.cert, 'certificate'), read(files.key, 'key')];
  const first = certificateIn(cert, files.cert);
  const secret = keyIn(key, files.key);
  if (!first.checkPrivateKey(secret)) {
    throw bad(`${files.key} is not the key of the certificate in ${files.cert}`);
  }
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    throw bad(`${files.cert} cannot be used (${(error as Error).message})`);
  }
  if (Date.parse(first.validTo) <= Date.now())
    throw bad(`the certificate in ${files.cert} has expired (${first.validTo})`);
  return { cert, key, expiresAt: Date.parse(first.validTo) / 1000, subject: first.subject ?? '' };
}

function certificateIn(text: Buffer, path: string): X509Certificate {
  try {
    return new X509Certificate(text);
  } catch {
    throw bad(`${path} holds no certificate in PEM`);
  }
}

function keyIn(text: Buffer, path: string): KeyObject {
  try {
    return createPrivateKey(text);
  } catch (error) {
    const locked = (error as NodeJS.ErrnoException).code === 'ERR_MISSING_PASSPHRASE';
    throw bad(
      locked ? `the key in ${path} has a passphrase: take it off` : `${path} holds no private key in PEM`,
    );
  }
}

function read(path: string, what: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    throw bad(`cannot read the ${what} ${path} (${why})`);
  }
}

const bad = (message: string): StartError => new StartError('bad_tls', message);
