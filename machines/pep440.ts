import { compare, explain } from '@renovatebot/pep440';

/**
 * Version constraints as PEP 440 defines them. The package parses and orders versions; what a clause admits is
 * decided here, for the package's own `satisfies` simplifies `<` and `>` (post-releases and pre-releases of the
 * version named, epochs) and overlooks which local version was asked for (`==2.1+cu118`).
 */
interface Clause {
  operator: string;
  /** Without the `.*` of a prefix. */
  version: string;
  /** `==1.4.*` and `!=1.4.*` compare the release's beginning. */
  prefix: boolean;
}

const CLAUSE = /^(===|~=|==|!=|<=|>=|<|>)\s*(\S+)$/;

/** The clauses of a constraint such as `>=1.2,<2`; null where one is not PEP 440. Empty clauses do not count. */
function clausesOf(constraint: string): Clause[] | null {
  const clauses: Clause[] = [];
  for (const part of constraint.split(',')) {
    if (part.trim() === '') continue;
    const clause = clauseOf(part.trim());
    if (!clause) return null;
    clauses.push(clause);
  }
  return clauses;
}

function clauseOf(text: string): Clause | null {
  const [, operator = '', operand = ''] = CLAUSE.exec(text) ?? [];
  if (operator === '') return null;
  // Compared as text, it may be anything that does not end the clause elsewhere.
  if (operator === '===') return /[;)]/.test(operand) ? null : { operator, version: operand, prefix: false };
  const equality = operator === '==' || operator === '!=';
  const prefix = equality && operand.endsWith('.*');
  const version = prefix ? operand.slice(0, -2) : operand;
  const parts = explain(version);
  if (!parts) return null;
  if (parts.local !== null && (prefix || !equality)) return null;
  if (prefix && (parts.pre || parts.post !== null || parts.dev !== null)) return null;
  if (operator === '~=' && parts.release.length < 2) return null;
  return { operator, version, prefix };
}

/** Whether the text is a constraint. */
export function isConstraint(text: string): boolean {
  return clausesOf(text) !== null;
}

/**
 * Whether a version meets every clause; of none, as in `""`, it may look as it likes. Pre-releases are admitted where their order admits them: PEP 440 leaves
 * them out only where there is a choice, and a worker's version is what is installed. A version that is not PEP
 * 440 can only be named as it is, by `===`.
 */
export function meetsConstraint(version: string, constraint: string): boolean {
  return clausesOf(constraint)?.every((clause) => admits(clause, version)) ?? false;
}

function admits({ operator, version: wanted, prefix }: Clause, version: string): boolean {
  if (operator === '===') return version.toLowerCase() === wanted.toLowerCase();
  const parts = explain(version);
  if (!parts) return false;
  switch (operator) {
    case '==':
      return prefix ? startsWith(version, releaseOf(wanted)) : equals(version, wanted);
    case '!=':
      return !(prefix ? startsWith(version, releaseOf(wanted)) : equals(version, wanted));
    case '~=':
      return compare(parts.public, wanted) >= 0 && startsWith(version, releaseOf(wanted).slice(0, -1));
    case '<=':
      return compare(parts.public, wanted) <= 0;
    case '>=':
      return compare(parts.public, wanted) >= 0;
    case '<':
      return compare(version, wanted) < 0 && !isPreReleaseOf(version, wanted);
    default:
      return compare(parts.public, wanted) > 0 && !isPostReleaseOf(version, wanted);
  }
}

/** A clause without a local version takes every local version of what it names. */
function equals(version: string, wanted: string): boolean {
  const local = explain(wanted)?.local ?? null;
  return compare(local === null ? (explain(version)?.public ?? version) : version, wanted) === 0;
}

/** Epoch and release numbers. */
function releaseOf(version: string): number[] {
  const parts = explain(version);
  return parts ? [parts.epoch, ...parts.release] : [];
}

function startsWith(version: string, wanted: number[]): boolean {
  const release = releaseOf(version);
  return wanted.every((part, i) => (release[i] ?? 0) === part);
}

/** `<2` does not admit `2rc1`, whereas `<2rc2` does. */
function isPreReleaseOf(version: string, wanted: string): boolean {
  if (explain(wanted)?.is_prerelease || !explain(version)?.is_prerelease) return false;
  return compare(version, `${wanted}.dev0`) >= 0;
}

/** Of what is above it: `>1.2` does not admit `1.2.post1`, whereas `>1.2.post1` admits `1.2.post2`. */
function isPostReleaseOf(version: string, wanted: string): boolean {
  const parts = explain(version);
  return compare(`${parts?.base_version}${parts?.pre?.join('') ?? ''}`, wanted) === 0;
}
