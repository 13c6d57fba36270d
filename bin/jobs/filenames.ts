import { createHash } from 'node:crypto';
import { isDeviceName } from '../../actors/shared/file-names.ts';

const MAX_BYTES = 180;
/** What file systems refuse or shells and terminals mistake; the rest of Unicode is welcome. */
const UNSAFE = /[\p{Cc}\p{Cf}\u2028\u2029\ufffd\p{Cs}<>:"|?*]/gu;

/**
 * A name from a server as a name of a file in one directory: no path, no control characters, not hidden, not
 * too long. What cannot be used at all becomes `fallback`.
 */
export function safeFileName(name: string | null | undefined, fallback: string): string {
  const last = (name ?? '').split(/[/\\]/).at(-1) ?? '';
  const clean = last
    .normalize('NFC')
    .replace(UNSAFE, '_')
    .replace(/^[\s.]+/, '')
    .replace(/[\s.]+$/, '');
  if (clean === '') return fallback === '' ? 'file' : safeFileName(fallback, '');
  return shorten(isDeviceName(clean) ? `_${clean}` : clean);
}

/** Cuts a long name but keeps its extension, and that it differs from others. */
function shorten(name: string): string {
  if (Buffer.byteLength(name) <= MAX_BYTES) return name;
  const extension = /\.[A-Za-z0-9]{1,12}$/.exec(name)?.[0] ?? '';
  const mark = createHash('sha256').update(name).digest('hex').slice(0, 8);
  let stem = name.slice(0, name.length - extension.length);
  while (Buffer.byteLength(stem) > MAX_BYTES - extension.length - 9) {
    stem = [...stem].slice(0, -1).join('');
  }
  return `${stem}~${mark}${extension}`;
}

/** Gives each name once; a taken one gets a number before its extension. Case does not make names differ. */
export class DistinctNames {
  readonly #taken = new Set<string>();

  take(name: string): string {
    const dot = name.lastIndexOf('.');
    const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
    let given = name;
    for (let n = 2; this.#taken.has(given.toLowerCase()); n++) given = `${stem}-${n}${extension}`;
    this.#taken.add(given.toLowerCase());
    return given;
  }
}
