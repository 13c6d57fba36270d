import { clean, compare, explain } from '@renovatebot/pep440';
import { comparePoints, EVERYWHERE, narrowed, type Point, type Range } from './ranges.ts';

/**
 * Version constraints as PEP 440 defines them. The package parses versions and orders those that are out of the
 * ordinary; what a clause admits is decided here, for the package's own `satisfies` simplifies `<` and `>`
 * (post-releases and pre-releases of the version named, epochs) and overlooks which local version was asked for
 * (`==2.1+cu118`). Both sides are read once: thousands of constraints are held against a worker.
 */
export interface Version {
  readonly text: string;
  /** Null where it is not PEP 440. */
  readonly parts: Parts | null;
}

interface Parts {
  /** As it is compared, its local version included. */
  readonly whole: Ordered;
  /** Without its local version. */
  readonly public: Ordered;
  readonly epoch: number;
  /** As written, zeros at its end included. */
  readonly release: readonly number[];
  readonly isPreRelease: boolean;
  /** What a post-release of it corrects. */
  readonly base: Ordered;
}

/** A version in the order of versions. */
interface Ordered {
  readonly text: string;
  readonly hasLocal: boolean;
  /** Epoch, release without the zeros at its end. */
  readonly release: readonly number[];
  /** Pre-release, post-release, development release. */
  readonly suffix: readonly number[];
}

interface Clause {
  readonly operator: string;
  /** Without the `.*` of a prefix. */
  readonly version: Version;
  /** `==1.4.*` and `!=1.4.*` compare the release's beginning. */
  readonly prefix: boolean;
  /** `<2` does not admit `2rc1`, whereas `<2rc2` does: pre-releases from here on are not meant; null where they are. */
  readonly floor: Ordered | null;
}

/** A constraint such as `>=1.2,<2`. Empty clauses do not count. */
export interface Constraint {
  /** Null where one is not PEP 440. */
  readonly clauses: readonly Clause[] | null;
  /** Which of the versions that were asked about last meet it: of one cluster there are few. */
  readonly known: Map<string, boolean>;
}

/** Versions that a constraint remembers. */
const REMEMBERED = 16;

const CLAUSE = /^(===|~=|==|!=|<=|>=|<|>)\s*(\S+)$/;

export const constraintOf = (text: string): Constraint => ({ clauses: clausesOf(text), known: new Map() });

function clausesOf(text: string): Clause[] | null {
  const clauses: Clause[] = [];
  for (const part of text.split(',')) {
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
  if (operator === '===') {
    if (/[;)]/.test(operand)) return null;
    return { operator, version: { text: operand, parts: null }, prefix: false, floor: null };
  }
  const equality = operator === '==' || operator === '!=';
  const prefix = equality && operand.endsWith('.*');
  const version = versionOf(prefix ? operand.slice(0, -2) : operand);
  const { parts } = version;
  if (!parts) return null;
  if (parts.whole.hasLocal && (prefix || !equality)) return null;
  if (prefix && parts.whole.suffix.some((part, i) => part !== PLAIN[i])) return null;
  if (operator === '~=' && parts.release.length < 2) return null;
  const floor = operator === '<' && !parts.isPreRelease ? versionOf(`${version.text}.dev0`).parts : null;
  return { operator, version, prefix, floor: floor?.whole ?? null };
}

const PRE_RELEASES = ['a', 'b', 'rc'];
/** The suffix of a version that is no pre-release, post-release or development release. */
const PLAIN = [PRE_RELEASES.length, 0, -1, Number.POSITIVE_INFINITY];

/** Reads a version; what is no PEP 440 can only be named as it is, by `===`. */
export function versionOf(text: string): Version {
  const found = explain(text);
  if (!found) return { text, parts: null };
  const { epoch, release, pre, post, dev, local } = found;
  const trimmed = [epoch, ...release];
  while (trimmed.length > 1 && trimmed.at(-1) === 0) trimmed.pop();
  // A development release of nothing else comes before its pre-releases.
  // The package's types hold these for lists, while `explain` gives numbers, and a letter with a number.
  const [letter, number = 0] = (pre ?? []) as unknown as [string?, number?];
  const [after, development] = [post, dev] as unknown as (number | null)[];
  // A development release of nothing else comes before its pre-releases.
  const alone = after === null && development !== null ? -1 : PRE_RELEASES.length;
  const before = letter === undefined ? [alone, 0] : [PRE_RELEASES.indexOf(letter), number];
  const of = (text: string, suffix: number[], hasLocal = false): Ordered => ({
    ...{ text, hasLocal, release: trimmed, suffix },
  });
  const suffix = [...before, after ?? -1, development ?? Number.POSITIVE_INFINITY];
  const afterBase = pre ? [...before, -1, Number.POSITIVE_INFINITY] : PLAIN;
  return {
    text,
    parts: {
      whole: of(text, suffix, local !== null),
      public: of(found.public, suffix),
      ...{ epoch, release },
      isPreRelease: found.is_prerelease,
      base: of(`${found.base_version}${pre?.join('') ?? ''}`, afterBase),
    },
  };
}

/** As the package's `compare` says, which is asked where two local versions of the same are looked at. */
function order(a: Ordered, b: Ordered): number {
  const before = comparePoints(a.release, b.release) || comparePoints(a.suffix, b.suffix);
  if (before !== 0 || !(a.hasLocal && b.hasLocal)) return before || Number(a.hasLocal) - Number(b.hasLocal);
  return compare(a.text, b.text);
}

/** The same text for versions that are the same; what is no PEP 440 stays as it is. */
export const sameVersionText = (text: string): string => clean(text) ?? text;

/** The version that a constraint names and no other; null where it admits several. */
export function onlyVersion(constraint: string): string | null {
  const [clause, ...others] = clausesOf(constraint) ?? [];
  const names = clause && others.length === 0 && (clause.operator === '==' || clause.operator === '===');
  return names && !clause.prefix ? clause.version.text : null;
}

/** Whether the text is a constraint. */
export function isConstraint(text: string): boolean {
  return clausesOf(text) !== null;
}

/**
 * Whether a version meets every clause; of none, as in `""`, it may look as it likes. Pre-releases are admitted where
 * their order admits them: PEP 440 leaves them out only where there is a choice, and a worker's version is what is
 * installed. A version that is not PEP 440 can only be named as it is, by `===`.
 */
export function meetsConstraint(version: Version, { clauses, known }: Constraint): boolean {
  let meets = known.get(version.text);
  if (meets !== undefined) return meets;
  meets = clauses?.every((clause) => admits(clause, version)) ?? false;
  if (known.size >= REMEMBERED) known.clear();
  known.set(version.text, meets);
  return meets;
}

function admits({ operator, version: wanted, prefix, floor }: Clause, version: Version): boolean {
  if (operator === '===') return version.text.toLowerCase() === wanted.text.toLowerCase();
  const has = version.parts;
  const wants = wanted.parts;
  if (!has || !wants) return false;
  switch (operator) {
    case '==':
      return prefix ? startsWith(has, releaseOf(wants)) : equals(has, wants);
    case '!=':
      return !(prefix ? startsWith(has, releaseOf(wants)) : equals(has, wants));
    case '~=':
      return order(has.public, wants.whole) >= 0 && startsWith(has, releaseOf(wants).slice(0, -1));
    case '<=':
      return order(has.public, wants.whole) <= 0;
    case '>=':
      return order(has.public, wants.whole) >= 0;
    case '<':
      if (order(has.whole, wants.whole) >= 0) return false;
      return floor === null || !has.isPreRelease || order(has.whole, floor) < 0;
    default:
      // Of what is above it: `>1.2` does not admit `1.2.post1`, whereas `>1.2.post1` admits `1.2.post2`.
      return order(has.public, wants.whole) > 0 && order(has.base, wants.whole) !== 0;
  }
}

/** A clause without a local version takes every local version of what it names. */
function equals(has: Parts, wants: Parts): boolean {
  return order(wants.whole.hasLocal ? has.whole : has.public, wants.whole) === 0;
}

/** Epoch and release numbers. */
const releaseOf = ({ epoch, release }: Parts): number[] => [epoch, ...release];

function startsWith(version: Parts, wanted: readonly number[]): boolean {
  const release = releaseOf(version);
  return wanted.every((part, i) => (release[i] ?? 0) === part);
}

/** Behind the numbers of a release, before those of one that goes on. */
const END = -1;
const pointAt = ({ release, suffix }: Ordered): Point => [...release, END, ...suffix];
/** Before everything whose release is this one. */
const before = (release: readonly number[]): Point => [...release, END, Number.NEGATIVE_INFINITY];

/** Where a version stands in the order of versions, whatever its local version; null where it is not PEP 440. */
export const pointOf = ({ parts }: Version): Point | null => parts && pointAt(parts.public);

/**
 * Where the versions lie that meet a constraint, at least: not all that lie there need meet it. What is no PEP 440
 * meets no constraint that has an end here.
 */
export const rangeOf = ({ clauses }: Constraint): Range =>
  (clauses ?? []).map(rangeOfClause).reduce(narrowed, EVERYWHERE);

function rangeOfClause({ operator, version: { parts }, prefix }: Clause): Range {
  if (!parts) return EVERYWHERE;
  const here = pointAt(parts.public);
  switch (operator) {
    case '==':
      return prefix ? beginningWith(releaseOf(parts)) : { from: here, to: here };
    case '~=':
      return narrowed({ from: here, to: null }, beginningWith(releaseOf(parts).slice(0, -1)));
    case '<=':
    case '<':
      return { from: null, to: here };
    case '>=':
    case '>':
      return { from: here, to: null };
    default:
      return EVERYWHERE;
  }
}

/** The versions whose release begins like this. Those that end in zeros are written without them. */
function beginningWith(release: readonly number[]): Range {
  const first = [...release];
  while (first.length > 1 && first.at(-1) === 0) first.pop();
  return { from: before(first), to: before([...release.slice(0, -1), (release.at(-1) as number) + 1]) };
}
