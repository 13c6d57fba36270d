import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { InputError } from '../../actors/worker/errors.ts';
import { LIMITS, unzip } from '../../actors/worker/inputs/zip.ts';
import { type RawEntry, rawZip } from '../worker/raw-zip.ts';
import { NASTY_TEXTS } from './nasty.ts';

const name = fc.oneof(
  fc.constantFrom(...NASTY_TEXTS),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc
    .array(fc.constantFrom('a', 'A', '..', '.', '', 'b', '\\', 'con'), { maxLength: 5 })
    .map((p) => p.join('/')),
);

const entry: fc.Arbitrary<RawEntry> = fc.record({
  name,
  data: fc.string({ maxLength: 50 }),
  mode: fc.constantFrom(0o100644, 0o040755, 0o120777, 0o020666, 0o010644, 0o104755, 0, 0o140000),
});

/** An archive whose names, types and bytes are anything. */
const archives: fc.Arbitrary<Buffer> = fc
  .tuple(
    fc.array(entry, { maxLength: 6 }),
    fc.array(fc.tuple(fc.nat(2000), fc.nat(255)), { maxLength: 6 }),
    fc.option(fc.nat(2000), { freq: 4 }),
  )
  .map(([entries, changes, end]) => {
    const bytes = rawZip(entries);
    for (const [at, byte] of changes) bytes[at % bytes.length] = byte;
    return end === null ? bytes : bytes.subarray(0, end);
  });

/**
 * Unpacks archives that are damaged at random: each is unpacked or refused as a fault of the input, and nothing is
 * ever written beside the target. Returns how many there were.
 */
export async function fuzzZips({ seed, runs }: { seed: number; runs: number }): Promise<number> {
  const folder = await mkdtemp(join(tmpdir(), 'jq-zips-'));
  try {
    const property = fc.asyncProperty(archives, async (bytes) => {
      const archive = join(folder, 'in.zip');
      await writeFile(archive, bytes);
      await unzip(archive, join(folder, 'out'), 'the archive', LIMITS).catch((fault: unknown) => {
        if (!(fault instanceof InputError)) throw fault;
      });
      await assertTidy(folder);
    });
    await fc.assert(property, { seed, numRuns: runs, includeErrorInReport: true });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return runs;
}

/** Only files and folders, all below `out`; then all of it is removed. */
async function assertTidy(folder: string): Promise<void> {
  const beside = (await readdir(folder)).filter((found) => found !== 'in.zip' && found !== 'out');
  if (beside.length > 0) throw new Error(`written beside the target: ${beside}`);
  const all = await readdir(join(folder, 'out'), { recursive: true, withFileTypes: true });
  const odd = all.filter((found) => !found.isFile() && !found.isDirectory());
  if (odd.length > 0) throw new Error(`neither file nor folder: ${odd.map(({ name: found }) => found)}`);
  await rm(join(folder, 'out'), { recursive: true });
}
