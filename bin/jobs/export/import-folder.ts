import { readFile, realpath, stat } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { hashOf } from '../../../actors/shared/file-bytes.ts';
import { compose, members, RawJson } from '../../../machines/json/raw.ts';
import { usageError } from '../../cli/exit.ts';
import { INDEX_FILE, readIndex } from '../index-file.ts';
import { type JobFile, jobFromText } from '../submit/job-file.ts';
import { localRef, rewrite } from '../submit/local-refs.ts';

/** Files that are named where several are damaged. */
const NAMED = 10;

/**
 * The job of an exported folder, to be submitted: its inputs are files of the folder, wherever that lies now.
 * @throws CliError where it is no export, or a file of it is missing or is not as it was
 */
export async function importedJob(folder: string): Promise<JobFile> {
  const root = await realpath(folder).catch(() => {
    throw usageError(`there is no folder ${folder}`);
  });
  if (!(await stat(root)).isDirectory())
    throw usageError(`${folder} is a file`, 'unpack the archive, and name the folder that was in it');
  const verified = await verify(root);
  const text = await readFile(join(root, 'job.json'), 'utf8');
  return jobFromText(withFullPaths(text, root, verified), join(folder, 'job.json'));
}

/**
 * A moved or damaged archive is found out before anything is submitted.
 * @returns the full paths of its files
 */
async function verify(root: string): Promise<ReadonlySet<string>> {
  const listed = await readIndex(root).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    throw usageError(
      `${root} has no ${INDEX_FILE}: it is no export, or one that was not finished`,
      'make one with: jqctl export JOB --to FOLDER',
    );
  });
  const faults: string[] = [];
  for (const { path, sha256 } of listed) {
    const file = resolve(root, path);
    // Also where a link leads out.
    const real = await realpath(file).catch(() => file);
    if (!file.startsWith(root + sep) || !real.startsWith(root + sep))
      faults.push(`${path} leads out of the folder`);
    else if (sha256 !== '' && (await hashOf(file).catch(() => null)) !== sha256)
      faults.push(`${path} is missing or damaged`);
  }
  if (faults.length === 0 && listed.some(({ path }) => path === 'job.json'))
    return new Set(listed.flatMap(({ path, sha256 }) => (sha256 === '' ? [] : [resolve(root, path)])));
  const more = faults.length - NAMED;
  const said = [...faults.slice(0, NAMED), ...(more > 0 ? [`and ${more} more`] : [])].join('; ');
  throw usageError(`${root} is not as it was exported: ${said || 'its index names no job.json'}`);
}

/** Whoever made the folder says what is uploaded: files that were verified, and nothing else of this machine. */
const withFullPaths = (text: string, root: string, verified: ReadonlySet<string>): string =>
  rewrite(text, (piece) => {
    const ref = localRef(piece);
    if (!ref?.marked) return piece.text;
    const file = join(root, ref.text);
    if (!verified.has(file))
      throw usageError(`the job of ${root} names ${ref.text}, which is none of the files of its index`);
    const parts = [...members(piece.text)].map(([key, value]) => [key, new RawJson(value)] as const);
    return compose({ ...Object.fromEntries(parts), [ref.member]: `file:${file}` });
  });
