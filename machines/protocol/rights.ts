import { ClusterError } from './errors.ts';

/** Rights and roles (docs/semantics.md#rights). */
export const RIGHTS = ['admin', 'cancel', 'execute', 'read', 'submit'] as const;
export type Right = (typeof RIGHTS)[number];

export const ROLES: Readonly<Record<string, readonly Right[]>> = {
  submitter: ['submit', 'read', 'cancel'],
  executor: ['read', 'execute'],
  viewer: ['read'],
  admin: RIGHTS,
};

/** Who makes a request, and what the credential allows. */
export interface Principal {
  name: string;
  rights: readonly Right[];
}

/** Everybody, in open mode (no credential configured). */
export const ANONYMOUS: Principal = { name: 'anonymous', rights: RIGHTS };

/** The rights in their one order; `admin` is a wildcard and brings all others. */
export function expandRights(rights: Iterable<Right>): readonly Right[] {
  const held = new Set(rights);
  return held.has('admin') ? RIGHTS : RIGHTS.filter((right) => held.has(right));
}

export function missingRights(principal: Principal, required: readonly Right[]): Right[] {
  if (principal.rights.includes('admin')) return [];
  return required.filter((right) => !principal.rights.includes(right));
}

/** @throws ClusterError `missing_rights`, naming them */
export function assertRights(principal: Principal, required: readonly Right[]): void {
  const missing = missingRights(principal, required);
  if (missing.length === 0) return;
  throw new MissingRightsError(principal.name, missing);
}

/** Somebody who is known may not do this. */
export class MissingRightsError extends ClusterError {
  readonly principal: string;

  constructor(principal: string, missing: readonly Right[]) {
    super('missing_rights', `principal '${principal}' lacks required right(s): ${missing.join(', ')}`);
    this.principal = principal;
  }
}
