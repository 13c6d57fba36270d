import { readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { type FileRole, OUTPUT } from '../../../machines/protocol/artifact-roles.ts';

/** Files of one attempt that are kept at most: each is an upload and an artifact of its own. */
const MOST_FILES = 1_000;
/** Folders within folders that are looked into. */
const MOST_LEVELS = 16;
/** Stands for the separator of folders, which no file name may hold. */
const BETWEEN = '__';

/** What a runner leaves under these names at the top of its output directory has a role of its own. */
const ROLES = new Map<string, FileRole>([
  ['predictions.csv', 'predictions'],
  ['curves.json', 'curves'],
  ['spectra.json', 'spectra'],
  ['preprocessed.json', 'preprocessed'],
]);

export interface OutputFile {
  role: FileRole;
  path: string;
  /** How the artifact is called: with the folders that it lay in. */
  filename: string;
}

export interface Outputs {
  files: OutputFile[];
  /** What is not kept, each a line that people read. */
  leftOut: string[];
}

/**
 * The files that a runner left in its output directory, those of a folder before those of its folders, by name: the
 * first `best_model.*` is the model, `predictions.csv`, `curves.json`, `spectra.json` and `preprocessed.json` have roles
 * of their own, the others are outputs (docs/protocol.md#artifacts). Links, pipes and the like are no files.
 * @param wantsModel whether the job asks for the model; without, what is called `best_model.*` is not kept
 */
export async function findOutputs(folder: string, wantsModel: boolean): Promise<Outputs> {
  const found: OutputFile[] = [];
  let [more, odd, deep] = [0, 0, 0];
  const look = async (inside: string, level: number): Promise<void> => {
    const entries = await readdir(inside, { withFileTypes: true });
    entries.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of entries.filter((e) => !e.isDirectory())) {
      const isModel = level === 0 && entry.name.startsWith('best_model.');
      if (!entry.isFile()) odd++;
      else if (isModel && !wantsModel) continue;
      else if (found.length === MOST_FILES) more++;
      else {
        const path = join(inside, entry.name);
        const filename = relative(folder, path).split(sep).join(BETWEEN);
        const isFirst = isModel && !found.some(({ role }) => role === 'model');
        const ofItsOwn = level === 0 ? ROLES.get(entry.name) : undefined;
        found.push({ role: isFirst ? 'model' : (ofItsOwn ?? OUTPUT), path, filename });
      }
    }
    for (const entry of entries.filter((e) => e.isDirectory())) {
      if (level === MOST_LEVELS) deep++;
      else await look(join(inside, entry.name), level + 1);
    }
  };
  await look(folder, 0);
  const leftOut = [
    more > 0 ? `${more} files beyond the first ${MOST_FILES}` : '',
    odd > 0 ? `${odd} that are no plain files (links, pipes and the like)` : '',
    deep > 0 ? `${deep} folders more than ${MOST_LEVELS} levels deep` : '',
  ].filter((line) => line !== '');
  return {
    files: found,
    leftOut: leftOut.map((what) => `of the output directory these are not kept: ${what}`),
  };
}
