const MAX_BYTES = 255;
// Control characters, and those that reorder text on a screen.
const UNPRINTABLE = /[\p{Cc}\p{Cs}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/**
 * What of a client's file name may be kept: the last part of its path, printable, at most 255 bytes of UTF-8.
 * Null when nothing is left of it.
 */
export function safeFilename(sent: string | undefined): string | null {
  if (!sent) return null;
  const base = sent.split(/[/\\]/).at(-1) ?? '';
  const name = cut(base.replace(UNPRINTABLE, '').trim());
  return name === '' || name === '.' || name === '..' ? null : name;
}

/** Cuts between code points, never within one. */
function cut(name: string): string {
  let bytes = 0;
  let kept = '';
  for (const char of name) {
    bytes += Buffer.byteLength(char);
    if (bytes > MAX_BYTES) break;
    kept += char;
  }
  return kept;
}

/**
 * `Content-Disposition` for a download: a plain ASCII name for every client, and the full one (RFC 6266) for
 * those that read it.
 */
export function attachment(filename: string): string {
  const ascii = filename.replace(/[^\x20-\x7e]/g, '_').replace(/["\\%]/g, '_');
  const full = encodeURIComponent(filename).replace(
    /['()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  const plain = `attachment; filename="${ascii}"`;
  return ascii === filename ? plain : `${plain}; filename*=UTF-8''${full}`;
}
