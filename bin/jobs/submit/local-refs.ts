import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, extname, posix, resolve, win32 } from 'node:path';
import { fileURLToPath } from 'node:url';
import { suggestPaths } from '../../../actors/shared/suggest-paths.ts';
import { compose, elements, members, RawJson } from '../../../machines/json/raw.ts';
import { usageError } from '../../cli/exit.ts';

/** A path or id marked so names something on this machine, with or without `--upload`. */
const MARK = 'file:';

export type Role = 'pipeline' | 'model' | 'dataset' | 'bundle';

/** What a pipeline or dataset of a specification names on this machine, by one of its members. */
export interface LocalRef {
  role: Role;
  member: 'path' | 'artifact_id' | 'bundle_artifact_id';
  /** As written. */
  text: string;
  marked: boolean;
}

/** A pipeline, model or dataset of a specification, as JSON text. */
export interface Piece {
  role: 'pipeline' | 'model' | 'dataset';
  text: string;
}

const ROLES = {
  pipeline: 'pipeline',
  pipelines: 'pipeline',
  model: 'model',
  dataset: 'dataset',
  datasets: 'dataset',
} as const;
const isRole = (key: string): key is keyof typeof ROLES => Object.hasOwn(ROLES, key);

export function references(text: string): Piece[] {
  return [...members(text)].flatMap(([key, value]) => {
    if (!isRole(key)) return [];
    const texts = key.endsWith('s') ? elements(value) : [value];
    return texts.map((piece) => ({ role: ROLES[key], text: piece }));
  });
}

/** The same document with every pipeline and dataset replaced by what `change` makes of it. */
export function rewrite(text: string, change: (piece: Piece) => string): string {
  const parts = [...members(text)].map(([key, value]) => {
    if (!isRole(key)) return `${JSON.stringify(key)}:${value}`;
    const changed = (piece: string) => change({ role: ROLES[key], text: piece });
    const written =
      key.endsWith('s') && value.startsWith('[')
        ? `[${elements(value).map(changed).join(',')}]`
        : changed(value);
    return `${JSON.stringify(key)}:${written}`;
  });
  return `{${parts.join(',')}}`;
}

/** What a pipeline or dataset may name on this machine: a path, or an id that is marked; null for all others. */
export function localRef({ role, text }: Piece): LocalRef | null {
  if (!text.startsWith('{')) return null;
  const piece = JSON.parse(text) as Record<string, unknown>;
  const member = memberOf(role, piece.kind);
  const named = member === null ? undefined : piece[member];
  if (member === null || typeof named !== 'string') return null;
  const marked = named.startsWith(MARK);
  // An id is an id, unless it is marked.
  if (member !== 'path' && !marked) return null;
  const what = member === 'bundle_artifact_id' ? 'bundle' : role;
  return { role: what, member, text: marked ? markedPath(named) : named, marked };
}

/**
 * The path behind the mark: `file:data/corn`, `file:C:\\data`, or an address as programs write it, `file:///C:/data`.
 * @param windows whether it is one of Windows
 */
export function markedPath(text: string, windows = process.platform === 'win32'): string {
  const path = text.slice(MARK.length);
  if (!path.startsWith('//') || !URL.canParse(text)) return path;
  try {
    return fileURLToPath(text, { windows });
  } catch {
    return path;
  }
}

function memberOf(role: Piece['role'], kind: unknown): LocalRef['member'] | null {
  if (role !== 'model' && kind === (role === 'pipeline' ? 'path' : 'shared_path')) return 'path';
  if (kind === 'artifact') return 'artifact_id';
  return role === 'pipeline' && kind === 'python_entrypoint' ? 'bundle_artifact_id' : null;
}

/**
 * Where a reference leads on this machine: `~` is the home directory, relative paths count from the first of the
 * folders in which there is such a thing, or from one above them whose name the path begins with. Null for an absolute
 * path that is not here: it may be one of the workers'.
 * @throws CliError for a marked or relative one that is not there, and for what cannot be used in its place
 */
export async function locate(ref: LocalRef, folders: readonly string[]): Promise<string | null> {
  const text = ref.text.replace(/^~(?=$|[\\/])/, () => homedir());
  const starts = [...folders, ...folders.flatMap((folder) => startsAbove(folder, text))];
  const candidates = [...new Set(starts.map((folder) => resolve(folder, text)))];
  for (const path of candidates) {
    const found = await stat(path).catch(() => null);
    if (!found) continue;
    checkKind(ref.role, path, found.isDirectory());
    return path;
  }
  if (!ref.marked && isAbsolute(text)) return null;
  const hint = ref.marked
    ? `'${MARK}' marks it for upload`
    : 'a relative path counts from here and from the job file; name a path of the workers in full';
  const said = (await Promise.all(candidates.map(suggestPaths))).filter((text) => text !== '');
  const there = said.find((text) => text.includes('did you mean')) ?? said.at(-1) ?? '';
  throw usageError(`there is no ${candidates.join(', nor ')} to upload${there}`, hint);
}

/** Folders above one from which a path leads through it: `examples/corn` counts from where `examples` lies. */
function startsAbove(folder: string, text: string): string[] {
  const [first] = text.split(/[\\/]/);
  const above: string[] = [];
  for (let path = resolve(folder); dirname(path) !== path; path = dirname(path)) {
    if (basename(path) === first) above.push(dirname(path));
  }
  return above;
}

/** Whether a path is absolute here or on a worker with another system. */
const isAbsolute = (path: string): boolean => posix.isAbsolute(path) || win32.isAbsolute(path);

function checkKind(role: Role, path: string, isFolder: boolean): void {
  if (isFile(role)) {
    if (isFolder) throw usageError(`the ${role} ${path} is a directory`);
    return;
  }
  if (isFolder || extname(path) === '.zip' || (role === 'dataset' && isTable(path))) return;
  const table = role === 'dataset' ? ', or a table (.csv, .tsv, .txt)' : '';
  throw usageError(`the ${role} ${path} is a file`, `a ${role} is a folder, a zip of one${table}`);
}

/** Whether it is sent as the file that it is. */
export const isFile = (role: Role): boolean => role === 'pipeline' || role === 'model';

/** Whether a file is one table with all of a dataset. */
export const isTable = (path: string): boolean => /\.(csv|tsv|txt)$/i.test(path);

/** What stands for a file in rankings and lists: its name without what its kind adds to it. */
export const labelOf = (role: Role, path: string): string =>
  isFile(role) || isTable(path) ? basename(path, extname(path)) : basename(path, '.zip');

/** The reference to an artifact that takes the place of one to this machine, as JSON text. */
export function artifactRef(piece: Piece, ref: LocalRef, path: string, id: string): string {
  const all = [...members(piece.text)].map(([key, value]) => [key, new RawJson(value)] as const);
  if (ref.role === 'bundle') return compose({ ...Object.fromEntries(all), bundle_artifact_id: id });
  const rest = Object.fromEntries(all.filter(([key]) => key !== 'kind' && key !== ref.member));
  const name = 'name' in rest ? {} : { name: labelOf(ref.role, path) };
  return compose({ kind: 'artifact', artifact_id: id, ...rest, ...name });
}
