import { expandRights, type Principal, RIGHTS, type Right, ROLES } from '../../machines/protocol/rights.ts';
import { StartError, type StartErrorCode } from '../../machines/protocol/start-error.ts';

/** One credential: the digest of its token and whom it stands for. */
export interface Entry {
  digest: Buffer;
  principal: Principal;
  /** Where it was configured, for messages: `--principal alice`, `auth.yaml, entry 2 (alice)`. */
  source: string;
}

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
