import { readFileSync } from 'node:fs';
import { type Static, Type } from 'typebox';
import { YamlError, yamlToJson } from '../../machines/json/yaml.ts';
import { didYouMean, nearest } from '../../machines/protocol/nearest.ts';
import { StartError } from '../../machines/protocol/start-error.ts';
import { validator } from '../../machines/schema/validate.ts';
import { type Entry, idOf, rightsByName, rightsOfRoles } from './entry.ts';
import { checkedDigest } from './secret.ts';
import { timeOf } from './times.ts';

const FIELDS = {
  name: Type.String({ minLength: 1, maxLength: 200 }),
  roles: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
  rights: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
  token: Type.Optional(Type.String()),
  token_sha256: Type.Optional(Type.String({ pattern: '^[0-9a-fA-F]{64}$' })),
  created_at: Type.Optional(Type.String()),
  expires_at: Type.Optional(Type.String()),
};
const FileEntry = Type.Object(FIELDS);
type FileEntry = Static<typeof FileEntry>;

const check = validator(Type.Array(FileEntry));

/** A principal of an auth file, with what the file alone says of it. */
export interface ListedEntry extends Entry {
  /** As they are written; undefined where rights are. */
  roles: readonly string[] | undefined;
  /** Seconds since the epoch; undefined where the file does not say. */
  createdAt: number | undefined;
  /** Whether the file holds the token itself, and not its digest alone. */
  isPlain: boolean;
}

/**
 * Reads an auth file: a JSON or YAML list of `{name, roles | rights, token | token_sha256, expires_at}`
 * (docs/operations.md#credentials). An empty list is refused, since it would open the server to everybody.
 * @throws StartError that names the file and the entry, never a token
 */
export function readAuthFile(path: string): ListedEntry[] {
  return parseAuthFile(path, read(path));
}

/** The same of a text that stands, or is about to, in the file of that name. */
export function parseAuthFile(path: string, text: string): ListedEntry[] {
  const checked = check(parse(path, text));
  if (!checked.ok) {
    const faults = checked.faults.map(({ path: where, message }) => `${where} ${message}`).join('; ');
    throw new StartError('bad_auth_file', `${path} is not a list of principals: ${faults}`);
  }
  if (checked.value.length === 0) throw new StartError('bad_auth_file', `${path} holds no principal`);
  return checked.value.map((entry, i) => entryOf(entry, `${path}, entry ${i + 1} (${entry.name})`));
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new StartError('bad_auth_file', `cannot read the auth file ${path} (${why})`);
  }
}

/** JSON is YAML as well, so one reader does for both. */
function parse(path: string, text: string): unknown {
  try {
    return JSON.parse(yamlToJson(text));
  } catch (error) {
    // The parser may quote its input, and the input holds tokens: only the place is told.
    const where = error instanceof YamlError ? `line ${error.line}, column ${error.column}` : 'its end';
    throw new StartError('bad_auth_file', `${path} is neither JSON nor YAML: look at ${where}`);
  }
}

function entryOf(entry: FileEntry, source: string): ListedEntry {
  refuseMisspelt(entry, source);
  if ((entry.roles === undefined) === (entry.rights === undefined)) {
    throw new StartError('bad_auth_file', `${source} needs either 'roles' or 'rights'`);
  }
  if ((entry.token === undefined) === (entry.token_sha256 === undefined)) {
    throw new StartError('bad_auth_file', `${source} needs either 'token' or 'token_sha256'`);
  }
  const rights = entry.roles
    ? rightsOfRoles(entry.roles, source, 'bad_auth_file')
    : rightsByName(entry.rights ?? [], source, 'bad_auth_file');
  const digest =
    entry.token_sha256 === undefined
      ? checkedDigest(entry.token ?? '', source)
      : Buffer.from(entry.token_sha256, 'hex');
  return {
    ...{ digest, id: idOf(digest), principal: { name: entry.name, rights }, source, roles: entry.roles },
    expiresAt: checkedTime(entry.expires_at, 'expires_at', source),
    createdAt: checkedTime(entry.created_at, 'created_at', source),
    isPlain: entry.token !== undefined,
  };
}

/** An `expire_at` that nobody reads would be a token without an end. What is like no field is the file's own affair. */
function refuseMisspelt(entry: FileEntry, source: string): void {
  const known = Object.keys(FIELDS);
  for (const key of Object.keys(entry).filter((name) => !known.includes(name))) {
    const meant = nearest(key, known);
    if (meant === undefined) continue;
    throw new StartError('bad_auth_file', `${source} has the unknown field '${key}'${didYouMean(meant)}`);
  }
}

function checkedTime(text: string | undefined, field: string, source: string): number | undefined {
  if (text === undefined) return undefined;
  const time = timeOf(text);
  if (time !== undefined) return time;
  throw new StartError(
    'bad_auth_file',
    `${source}: ${field} '${text.slice(0, 40)}' is no time such as 2027-01-31 or 2027-01-31T18:00:00Z`,
  );
}
