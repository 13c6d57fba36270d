import { readFileSync } from 'node:fs';
import { type Static, Type } from 'typebox';
import { YamlError, yamlToJson } from '../../machines/json/yaml.ts';
import { StartError } from '../../machines/protocol/start-error.ts';
import { validator } from '../../machines/schema/validate.ts';
import { type Entry, rightsByName, rightsOfRoles } from './entry.ts';
import { checkedDigest } from './secret.ts';

const FileEntry = Type.Object({
  name: Type.String({ minLength: 1, maxLength: 200 }),
  roles: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
  rights: Type.Optional(Type.Array(Type.String(), { minItems: 1 })),
  token: Type.Optional(Type.String()),
  token_sha256: Type.Optional(Type.String({ pattern: '^[0-9a-fA-F]{64}$' })),
});
type FileEntry = Static<typeof FileEntry>;

const check = validator(Type.Array(FileEntry));

/**
 * Reads an auth file: a JSON or YAML list of `{name, roles | rights, token | token_sha256}`
 * (docs/operations.md#credentials). An empty list is refused, since it would open the server to everybody.
 * @throws StartError that names the file and the entry, never a token
 */
export function readAuthFile(path: string): Entry[] {
  const checked = check(parse(path, read(path)));
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

function entryOf(entry: FileEntry, source: string): Entry {
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
  return { digest, principal: { name: entry.name, rights }, source };
}
