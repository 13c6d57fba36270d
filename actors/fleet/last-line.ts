import { open } from 'node:fs/promises';
import { stripVTControlCharacters } from 'node:util';

/** Bytes from the end of a log that are read. */
const READ = 8 * 1024;
/** Characters of a line that are told. */
const TOLD = 400;

/** The last line that says something in a file; null where there is none. */
export async function lastLine(path: string): Promise<string | null> {
  const file = await open(path).catch(() => null);
  if (file === null) return null;
  try {
    const { size } = await file.stat();
    const length = Math.min(READ, size);
    const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
    const lines = stripVTControlCharacters(buffer.toString('utf8')).trimEnd().split('\n');
    // What was wrong stands in front of what to do about it.
    const said = lines.findLast((line) => /^(error|slurmstepd: error):/.test(line)) ?? lines.at(-1);
    return said?.trim().slice(0, TOLD) || null;
  } finally {
    await file.close();
  }
}
