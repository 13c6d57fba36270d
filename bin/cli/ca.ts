import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { usageError } from './exit.ts';
import { value } from './usage.ts';

export const caWords = value('FILE', 'certificates (PEM) that alone vouch for a server of https (JQ_CA)');

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/**
 * The certificates of the file of `--ca`, else of `JQ_CA`; undefined: those that Node.js knows.
 * @throws CliError that names the file
 */
export function caOf(flag: string | undefined, env: Record<string, string | undefined>): string | undefined {
  const path = flag ?? (env.JQ_CA || undefined);
  if (path === undefined) return undefined;
  const source = flag === undefined ? 'JQ_CA' : '--ca';
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    throw usageError(`${source}: cannot read ${path} (${why})`);
  }
  const found = text.match(CERTIFICATE) ?? [];
  // Whatever cannot be read as one would be passed over in silence, and nothing be trusted.
  if (found.length > 0 && found.every(isCertificate)) return text;
  throw usageError(`${source}: ${path} holds no certificate in PEM`);
}

function isCertificate(pem: string): boolean {
  try {
    new X509Certificate(pem);
    return true;
  } catch {
    return false;
  }
}
