import FlatQueue from 'flatqueue';
import type { Bucket } from './bucket.ts';
import type { Group } from './groups.ts';

/** The turn that serves it, of its groups from one on; undefined where there are no turns. */
function turnOf({ path }: Bucket, from: number): number | undefined {
  for (let i = from; i < path.length; i++) {
    const turn = path[i]?.turn ?? null;
    if (turn !== null) return turn;
  }
  return undefined;
}

/** By which a bucket is served among others of the same line: whose turn it is, or first in, first out. */
const rankOf = (bucket: Bucket, from: number): number | undefined => turnOf(bucket, from) ?? bucket.head;

/** Which of two is served first; none has tasks of the same number. */
export function sooner(one: Bucket | undefined, other: Bucket | undefined): Bucket | undefined {
  if (!one || !other) return one ?? other;
  if (one.priority !== other.priority) return one.priority > other.priority ? one : other;
  const [turn, others] = [turnOf(one, 0), turnOf(other, 0)];
  if (turn !== undefined && others !== undefined && turn !== others) return turn < others ? one : other;
  return (one.head ?? Infinity) < (other.head ?? Infinity) ? one : other;
}

/**
 * Buckets in the order in which they are served, as one view sees them: groups stand in it with lines of their own,
 * under the turn or number that was next when they were looked at. These only grow without notice; what is in front is
 * put right when it is looked at. A group that is shut is left out as a whole until it is reopened, so that opening or
 * shutting costs nothing for what stands behind it.
 */
export class Line {
  readonly #order = new FlatQueue<Line | Bucket>();
  readonly #lines = new Map<Group, Line>();
  /** How many groups it stands within. */
  readonly #depth: number;
  readonly #group: Group | null;
  /** Whether a bucket may be in front; one that may not is left out of it for good. */
  readonly #admits: (bucket: Bucket) => boolean;
  /** Under which it stands in the line that it is a part of; other entries of it there are unused. */
  #rank: number | undefined;

  constructor(admits: (bucket: Bucket) => boolean, depth = 0, group: Group | null = null) {
    this.#admits = admits;
    this.#depth = depth;
    this.#group = group;
  }

  /** Whether nothing stands in it, nor is left out of it. */
  get isEmpty(): boolean {
    return this.#order.length === 0 && this.#lines.size === 0;
  }

  /** @param head the number that is next in the bucket */
  push(bucket: Bucket, head: number): void {
    const group = bucket.path[this.#depth];
    if (group === undefined) {
      this.#order.push(bucket, head);
      return;
    }
    const line = this.#lines.get(group) ?? new Line(this.#admits, this.#depth + 1, group);
    this.#lines.set(group, line);
    line.push(bucket, head);
    this.#list(line, turnOf(bucket, this.#depth) ?? head);
  }

  /** The bucket that is served next. */
  front(): Bucket | undefined {
    if (this.#group?.isShut) return undefined;
    const order = this.#order;
    for (let first = order.peek(); first; first = order.peek()) {
      const stands = order.peekValue() as number;
      const bucket = first instanceof Line ? first.#frontAt(stands) : first;
      const rank = bucket && rankOf(bucket, this.#depth);
      const isInPlace = bucket !== undefined && rank === stands;
      if (isInPlace && (first instanceof Line || this.#admits(bucket))) return bucket;
      order.pop();
      if (isInPlace) continue;
      if (first instanceof Line) this.#moved(first, stands, rank);
      else if (rank !== undefined) order.push(first, rank);
    }
    return undefined;
  }

  /** Undefined where it stands elsewhere in the line that it is a part of. */
  #frontAt(rank: number): Bucket | undefined {
    return this.#rank === rank ? this.front() : undefined;
  }

  /** Puts a group into its place again that was left out while it was shut. @param path all that it stands within */
  reopen(path: readonly Group[]): void {
    const line = this.#lines.get(path[this.#depth] as Group);
    if (!line) return;
    if (this.#depth + 1 < path.length) line.reopen(path);
    const bucket = line.front();
    const rank = bucket && rankOf(bucket, this.#depth);
    if (rank !== undefined) this.#list(line, rank);
    else if (line.isEmpty) this.#drop(line);
  }

  /** Lets go of buckets that are gone, or that stand in it more than once. @returns how many it holds */
  tidy(): number {
    const order = this.#order;
    const kept = new Set(order.ids.slice(0, order.length));
    order.clear();
    let held = 0;
    for (const line of this.#lines.values()) {
      held += line.tidy();
      if (line.isEmpty) this.#drop(line);
      else if (line.#rank !== undefined) order.push(line, line.#rank);
    }
    for (const one of kept) if (!(one instanceof Line) && one.head !== undefined) order.push(one, one.head);
    order.shrink();
    return held + order.length;
  }

  /** What a group has in front is another than where it stood, or none. */
  #moved(line: Line, stood: number, rank: number | undefined): void {
    if (line.#rank !== stood) return;
    line.#rank = undefined;
    if (rank !== undefined) this.#list(line, rank);
    else if (line.isEmpty) this.#drop(line);
  }

  #list(line: Line, rank: number): void {
    if (line.#rank !== undefined && line.#rank <= rank) return;
    line.#rank = rank;
    this.#order.push(line, rank);
  }

  #drop(line: Line): void {
    line.#rank = undefined;
    this.#lines.delete(line.#group as Group);
  }
}
