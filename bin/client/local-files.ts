import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, extname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { ClusterClient } from '../../gateway/client/client.ts';
import { compose, elements, members, RawJson } from '../../machines/json/raw.ts';
import { usageFault } from '../support/exit.ts';
import { localFault } from '../support/faults.ts';
import type { Output } from '../terminal/output.ts';
import { Progress } from '../terminal/progress.ts';
import { zipFolder } from './zip-folder.ts';

/** A path marked so is uploaded, with or without `--upload`. */
const MARK = 'file:';

/** A reference of a job specification to something on this machine. */
interface LocalRef {
  role: 'pipeline' | 'dataset';
  path: string;
}

interface Upload {
  client: ClusterClient;
  output: Output;
  signal: AbortSignal;
  /** Upload every path that exists here, not only the marked ones. */
  all: boolean;
}

/**
 * Uploads the pipeline files and dataset folders that a specification names on this machine, and names the
 * artifacts in their place. Everything else of the text stays as it is written. Equal content is sent once.
 * @throws CliFault for a marked path that does not exist or cannot be read
 */
export async function uploadLocalFiles(text: string, upload: Upload): Promise<string> {
  if (!text.trimStart().startsWith('{')) return text;
  const refs = new Map<string, LocalRef>();
  const note = async (ref: LocalRef | null) => {
    if (ref && (await isWanted(ref, upload.all))) refs.set(keyOf(ref), ref);
  };
  for (const piece of references(text)) await note(localRef(piece));
  if (refs.size === 0) return text;
  const artifacts = await sendAll([...refs.values()], upload);
  return rewrite(text, (piece) => {
    const ref = localRef(piece);
    const id = ref && artifacts.get(keyOf(ref));
    return id ? artifactRef(piece, ref, id) : piece;
  });
}

const keyOf = (ref: LocalRef): string => `${ref.role} ${ref.path}`;

interface Piece {
  role: 'pipeline' | 'dataset';
  text: string;
}

const ROLES = {
  pipeline: 'pipeline',
  pipelines: 'pipeline',
  dataset: 'dataset',
  datasets: 'dataset',
} as const;
const isRole = (key: string): key is keyof typeof ROLES => Object.hasOwn(ROLES, key);

function references(text: string): Piece[] {
  return [...members(text)].flatMap(([key, value]) => {
    if (!isRole(key)) return [];
    const texts = key.endsWith('s') ? elements(value) : [value];
    return texts.map((piece) => ({ role: ROLES[key], text: piece }));
  });
}

/** The same document with every pipeline and dataset replaced by what `change` makes of it. */
function rewrite(text: string, change: (piece: Piece) => Piece): string {
  const parts = [...members(text)].map(([key, value]) => {
    if (!isRole(key)) return `${JSON.stringify(key)}:${value}`;
    const changed = (piece: string) => change({ role: ROLES[key], text: piece }).text;
    const written =
      key.endsWith('s') && value.startsWith('[')
        ? `[${elements(value).map(changed).join(',')}]`
        : changed(value);
    return `${JSON.stringify(key)}:${written}`;
  });
  return `{${parts.join(',')}}`;
}

/** What a pipeline or dataset names by a path; null for the kinds that name no path. */
function localRef({ role, text }: Piece): LocalRef | null {
  if (!text.startsWith('{')) return null;
  const { kind, path } = JSON.parse(text) as { kind?: unknown; path?: unknown };
  const wanted = role === 'pipeline' ? 'path' : 'shared_path';
  return kind === wanted && typeof path === 'string' ? { role, path } : null;
}

const localPath = (ref: LocalRef): string =>
  resolve(ref.path.startsWith(MARK) ? ref.path.slice(MARK.length) : ref.path);

async function isWanted(ref: LocalRef, all: boolean): Promise<boolean> {
  const marked = ref.path.startsWith(MARK);
  if (!marked && !all) return false;
  const path = localPath(ref);
  const found = await stat(path).catch(() => null);
  if (!found && marked)
    throw usageFault(`there is no ${path} to upload`, `the job file marks it with '${MARK}'`);
  if (found?.isDirectory() && ref.role === 'pipeline')
    throw usageFault(`the pipeline ${path} is a directory`);
  if (found?.isFile() && ref.role === 'dataset' && extname(path) !== '.zip') {
    throw usageFault(`the dataset ${path} is a file`, 'a dataset is a folder, or a zip of one');
  }
  return found !== null;
}

function artifactRef({ role, text }: Piece, ref: LocalRef, id: string): Piece {
  const {
    kind: _kind,
    path: _path,
    ...rest
  } = Object.fromEntries([...members(text)].map(([key, value]) => [key, new RawJson(value)]));
  const name = role === 'dataset' && !('name' in rest) ? { name: basename(localPath(ref), '.zip') } : {};
  return { role, text: compose({ kind: 'artifact', artifact_id: id, ...rest, ...name }) };
}

/** Artifact ids by reference. */
async function sendAll(refs: LocalRef[], { client, output, signal }: Upload): Promise<Map<string, string>> {
  const scratch = await mkdtemp(join(tmpdir(), 'jqctl-'));
  const progress = new Progress(output, 1, 'uploading');
  const sent = new Map<string, string>();
  const ids = new Map<string, string>();
  try {
    for (const [i, ref] of refs.entries()) {
      const file = await packed(ref, join(scratch, `${i}.zip`));
      const digest = `${ref.role} ${await sha256(file)}`;
      const label = `uploading ${basename(localPath(ref))}`;
      const onProgress = (done: number, total: number) =>
        progress.update((i + done / Math.max(total, 1)) / refs.length, label);
      const filename =
        ref.role === 'dataset' ? `${basename(localPath(ref), '.zip')}.zip` : basename(localPath(ref));
      const id =
        sent.get(digest) ??
        (
          await client.upload('uploadArtifact', {
            file,
            filename,
            query: { kind: 'input' },
            onProgress,
            signal,
          })
        ).artifact_id;
      if (!sent.has(digest)) progress.line(`uploaded ${localPath(ref)}`);
      sent.set(digest, id);
      ids.set(keyOf(ref), id);
    }
    return ids;
  } finally {
    progress.stop();
    await rm(scratch, { recursive: true, force: true });
  }
}

async function packed(ref: LocalRef, target: string): Promise<string> {
  const path = localPath(ref);
  try {
    if (!(await stat(path)).isDirectory()) return path;
    await zipFolder(path, target);
    return target;
  } catch (fault) {
    throw usageFault(`cannot read ${localFault(fault) ?? path}`);
  }
}

async function sha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}
