import { expandRights, type Principal, RIGHTS, type Right, ROLES } from '../../machines/protocol/rights.ts';
import { StartError, type StartErrorCode } from '../../machines/protocol/start-error.ts';

/** One credential: the digest of its token and whom it stands for. */
export interface Entry {
  digest: Buffer;
  /** By which people name the token, which nobody keeps: the beginning of its digest. */
  id: string;
  principal: Principal;
  /** Where it was configured, for messages: `--principal alice`, `auth.yaml, entry 2 (alice)`. */
  source: string;
  /** Seconds since the epoch from which on it is void; undefined for never. */
  expiresAt?: number | undefined;
}

/** What people call a token by its digest. */
export const idOf = (digest: Buffer): string => digest.toString('hex', 0, 4);

/** The rights of a list of roles, in their one order. */
export function rightsOfRoles(
  roles: readonly string[],
  whose: string,
  code: StartErrorCode,
): readonly Right[] {
  return expandRights(roles.flatMap((role) => [...rightsOfRole(role, whose, code)]));
}

function rightsOfRole(role: string, whose: string, code: StartErrorCode): readonly Right[] {
  const rights = Object.hasOwn(ROLES, role) ? ROLES[role] : undefined;
  if (rights) return rights;
  const known = Object.keys(ROLES).join(', ');
  throw new StartError(code, `${whose} has the unknown role '${role}' (known: ${known})`);
}

/** The named rights, checked. */
export function rightsByName(
  names: readonly string[],
  whose: string,
  code: StartErrorCode,
): readonly Right[] {
  const unknown = names.find((name) => !(RIGHTS as readonly string[]).includes(name));
  if (unknown !== undefined) {
    throw new StartError(code, `${whose} has the unknown right '${unknown}' (known: ${RIGHTS.join(', ')})`);
  }
  return expandRights(names as Right[]);
}
