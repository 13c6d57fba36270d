import { type FileHandle, open, readFile, realpath, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { isMap, isSeq, parseDocument, type YAMLSeq } from 'yaml';
import { syncFolder } from '../../actors/server/blobs/durable.ts';
import { type ListedEntry, parseAuthFile } from '../../gateway/auth/auth-file.ts';
import { usageError } from '../cli/exit.ts';

/** An entry as `jqctl tokens` writes it. */
export interface NewEntry {
  name: string;
  roles?: readonly string[];
  rights?: readonly string[];
  token_sha256: string;
  created_at: string;
  expires_at?: string;
}

/** What becomes of an auth file: entries by their place in it, and new ones behind them. */
export interface Edit {
  remove: readonly number[];
  expire: ReadonlyMap<number, string>;
  add: readonly NewEntry[];
}

const HEAD = ' Who may use the server. Only the SHA-256 of each token stands here; jqctl tokens changes it.';

/**
 * Changes an auth file in one step: who reads it finds the file of before or that of after, and the one of after
 * survives a crash. What else stands in it stays, comments too; tokens that stood there themselves are replaced by their
 * digests. It belongs to whom it belonged, and only its user can read it.
 * @param decide what to do about the entries that are there; none where there is no file yet
 * @throws CliError when another edit is under way; StartError for a file that no server would take
 */
export async function editAuthFile(
  path: string,
  decide: (entries: readonly ListedEntry[]) => Edit,
): Promise<void> {
  // A link is followed, or the edit would end in a file that nobody reads.
  const file = await realpath(path).catch(() => path);
  const beside = `${file}.new`;
  const made = await open(beside, 'wx', 0o600).catch((fault: NodeJS.ErrnoException) => {
    if (fault.code !== 'EEXIST') throw fault;
    const hint = `if nobody is at it, an edit was broken off: remove ${beside}`;
    throw usageError(`${beside} is there: somebody else changes the auth file just now`, hint);
  });
  try {
    const text = await readFile(file, 'utf8').catch((fault: NodeJS.ErrnoException) => {
      if (fault.code === 'ENOENT') return null;
      throw fault;
    });
    const entries = text === null ? [] : parseAuthFile(path, text);
    const after = edited(text, file, entries, decide(entries));
    // No edit may leave a file behind that a server refuses.
    parseAuthFile(path, after);
    if (text !== null) await giveToOwner(made, file);
    await made.writeFile(after);
    await made.sync();
    await made.close();
    await rename(beside, file);
    await syncFolder(dirname(file));
  } catch (fault) {
    await made.close().catch(() => {});
    await rm(beside, { force: true });
    throw fault;
  }
}

/** The server reads the file as its own user, whoever changes it. */
async function giveToOwner(made: FileHandle, file: string): Promise<void> {
  const old = await open(file, 'r');
  try {
    const [{ uid, gid, mode }, own] = [await old.stat(), await made.stat()];
    if (uid !== own.uid || gid !== own.gid)
      await made.chown(uid, gid).catch((fault: NodeJS.ErrnoException) => {
        if (fault.code !== 'EPERM') throw fault;
        if (uid === own.uid) return;
        throw usageError(`${file} belongs to another user (uid ${uid}): change it as that user, or as root`);
      });
    // A server of another user may read it by its group; what everybody could read, only its user can from now on.
    const isKept = (mode & 0o044) === 0o040 && (await made.stat()).gid === gid;
    if (isKept) await made.chmod(0o640);
  } finally {
    await old.close();
  }
}

function edited(text: string | null, file: string, entries: readonly ListedEntry[], edit: Edit): string {
  const doc = parseDocument(text ?? '');
  if (text === null) {
    doc.commentBefore = HEAD;
    doc.contents = doc.createNode([]) as never;
  }
  const list = doc.contents as unknown;
  if (!isSeq(list)) throw usageError(`${file} is written in a way that cannot be edited: change it by hand`);
  for (const [i, { isPlain, digest }] of entries.entries()) {
    if (isPlain) replaceToken(list, i, digest.toString('hex'), file);
  }
  for (const [i, time] of edit.expire) mapAt(list, i, file).set('expires_at', time);
  for (const i of [...edit.remove].sort((a, b) => b - a)) list.delete(i);
  for (const entry of edit.add) list.add(doc.createNode(entry));
  return isJson(text, file) ? `${JSON.stringify(doc.toJS(), null, 2)}\n` : doc.toString({ lineWidth: 120 });
}

function replaceToken(list: YAMLSeq, i: number, digest: string, file: string): void {
  const map = mapAt(list, i, file);
  map.delete('token');
  map.set('token_sha256', digest);
}

function mapAt(list: YAMLSeq, i: number, file: string) {
  const map = list.items[i];
  if (isMap(map)) return map;
  throw usageError(`${file}, entry ${i + 1} stands there by an alias: write it out, or change it by hand`);
}

function isJson(text: string | null, file: string): boolean {
  if (text === null) return file.endsWith('.json');
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
