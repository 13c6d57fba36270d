import { createHash, randomBytes } from 'node:crypto';
import type { ListedEntry } from '../../gateway/auth/auth-file.ts';
import { timeText } from '../../gateway/auth/times.ts';
import { didYouMean, nearest } from '../../machines/protocol/nearest.ts';
import { type CliError, usageError } from '../cli/exit.ts';
import type { Edit, NewEntry } from './auth-file-edit.ts';

/** Bytes of chance in a token. */
const STRENGTH = 32;

/** A new token, which only its reader has: no file keeps it. */
export const newToken = (): string => `jq_${randomBytes(STRENGTH).toString('base64url')}`;

export const digestText = (token: string): string => createHash('sha256').update(token).digest('hex');

/** What a new token is for. Times are in seconds since the epoch. */
export interface Wanted {
  name: string;
  token: string;
  roles?: readonly string[];
  rights?: readonly string[];
  now: number;
  /** Undefined: never. */
  expiresAt: number | undefined;
}

function entryOf({ name, token, roles, rights, now, expiresAt }: Wanted): NewEntry {
  return {
    name,
    ...(roles && { roles: [...roles] }),
    ...(rights && { rights: [...rights] }),
    token_sha256: digestText(token),
    created_at: timeText(now),
    ...(expiresAt !== undefined && { expires_at: timeText(expiresAt) }),
  };
}

/** Every edit leaves out what has expired: it lets nobody in, and only makes the list longer. */
const expired = (entries: readonly ListedEntry[], now: number): number[] =>
  [...entries.keys()].filter((i) => isVoid(entries[i] as ListedEntry, now));

export const isVoid = ({ expiresAt }: ListedEntry, now: number): boolean =>
  expiresAt !== undefined && expiresAt <= now;

/** One more token; its principal may have others, with other rights. */
export const added = (entries: readonly ListedEntry[], wanted: Wanted): Edit => ({
  remove: expired(entries, wanted.now),
  expire: new Map(),
  add: [entryOf(wanted)],
});

/**
 * A token fewer, or all of a name.
 * @throws CliError when there is none such, or none would be left: a server takes no empty file, since that would open it
 */
export function revoked(
  entries: readonly ListedEntry[],
  which: string,
  now: number,
): { edit: Edit; gone: ListedEntry[] } {
  const gone = placesOf(entries, which);
  const remove = [...new Set([...gone, ...expired(entries, now)])];
  if (remove.length === entries.length) {
    throw usageError(
      'no token would be left, and a server takes no auth file without one: it would be open to everybody',
      'add another one before: jqctl tokens add NAME --role ROLE --auth-file FILE',
    );
  }
  const edit = { remove, expire: new Map(), add: [] };
  return { edit, gone: gone.map((i) => entries[i] as ListedEntry) };
}

/** A change of tokens that begins now. Times are in seconds. */
export interface Rotation {
  token: string;
  now: number;
  /** For how long the old ones go on. */
  overlap: number;
  /** Seconds since the epoch; null: never; undefined: the new one lives as long as the old one did. */
  expiresAt: number | null | undefined;
}

/**
 * A new token in the place of those of a name, or of one; the old ones go on for the time of the overlap.
 * @throws CliError when there is none, or what is to be the same differs
 */
export function rotated(
  entries: readonly ListedEntry[],
  which: string,
  rotation: Rotation,
): { edit: Edit; wanted: Wanted; until: number } {
  const { token, now, overlap } = rotation;
  const places = placesOf(entries, which).filter((i) => !isVoid(entries[i] as ListedEntry, now));
  const last = entries[places.at(-1) ?? -1];
  if (!last) throw usageError(`all tokens of '${which}' have expired: add a new one with jqctl tokens add`);
  const same = (i: number) => String(entries[i]?.principal.rights) === String(last.principal.rights);
  if (!places.every(same)) {
    const ids = places.map((i) => entries[i]?.id).join(', ');
    throw usageError(`the tokens of '${which}' have different rights: name one of them by its id (${ids})`);
  }
  const until = now + overlap;
  const ending = places.filter((i) => (entries[i]?.expiresAt ?? Number.POSITIVE_INFINITY) > until);
  const wanted = {
    ...{ name: last.principal.name, token, now },
    ...(last.roles ? { roles: last.roles } : { rights: last.principal.rights }),
    expiresAt: rotation.expiresAt === undefined ? lifeLike(last, now) : (rotation.expiresAt ?? undefined),
  };
  const gone = overlap === 0 ? places : [];
  const edit = {
    remove: [...new Set([...gone, ...expired(entries, now)])],
    expire: new Map(overlap === 0 ? [] : ending.map((i) => [i, timeText(until)] as const)),
    add: [entryOf(wanted)],
  };
  return { edit, wanted, until };
}

function lifeLike({ createdAt, expiresAt, source }: ListedEntry, now: number): number | undefined {
  if (expiresAt === undefined) return undefined;
  if (createdAt !== undefined && createdAt < expiresAt) return now + (expiresAt - createdAt);
  throw usageError(`${source} expires, and the file does not say when it was made: give --expires`);
}

/** The places of the tokens of a name, else of the one with that id. */
function placesOf(entries: readonly ListedEntry[], which: string): number[] {
  const places = [...entries.keys()];
  const named = places.filter((i) => entries[i]?.principal.name === which);
  const found = named.length > 0 ? named : places.filter((i) => entries[i]?.id === which.toLowerCase());
  if (found.length > 0) return found;
  throw unknown(entries, which);
}

function unknown(entries: readonly ListedEntry[], which: string): CliError {
  const names = [...new Set(entries.map(({ principal }) => principal.name))];
  const hint = didYouMean(nearest(which, names));
  return usageError(`the auth file has no token with the name or id '${which}'${hint}`);
}
