import { createHash, randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { StartError } from '../../../../machines/protocol/start-error.ts';
import type { ObjectSight, ObjectTrouble } from '../driver.ts';
import { objectPath } from '../paths.ts';
import type { Bucket } from './bucket.ts';
import { isWrong, nameOf, statusOf } from './faults.ts';
import type { Owner } from './owner.ts';

/** Milliseconds for which a look waits; what is asked then goes on, and is not asked again meanwhile. */
const PATIENCE_MS = 3_000;

/** Looks at a bucket as those do who use it. */
export class Sight {
  readonly #bucket: Bucket;
  readonly #owner: Owner;
  readonly #confirm: () => Promise<void>;
  #isConditional: boolean | null = null;
  #underWay: Promise<ObjectTrouble | null> | null = null;

  /** @param confirm takes a prefix that is nobody's yet, where it may */
  constructor(bucket: Bucket, owner: Owner, confirm: () => Promise<void>) {
    this.#bucket = bucket;
    this.#owner = owner;
    this.#confirm = confirm;
  }

  async look(): Promise<ObjectSight> {
    this.#underWay ??= this.#ask().finally(() => {
      this.#underWay = null;
    });
    const over = new AbortController();
    const late = delay(PATIENCE_MS, 'unreachable' as const, { signal: over.signal }).catch(() => null);
    const trouble = await Promise.race([this.#underWay, late]);
    over.abort();
    return { trouble, isConditional: this.#isConditional, clockAhead: this.#bucket.clockAhead };
  }

  /** Something failed for those who use it: whether they may write is tried again. */
  doubt(): void {
    this.#isConditional = null;
  }

  async #ask(): Promise<ObjectTrouble | null> {
    try {
      await this.#confirm();
      if (!(await this.#owner.isOurs())) return 'not_ours';
      this.#isConditional ??= await writesOnCondition(this.#bucket);
      return null;
    } catch (error) {
      return troubleIn(error);
    }
  }
}

/**
 * Tried with a few bytes: whether a service knows conditions is told by none. What it leaves, should it die meanwhile, is removed as
 * what an upload leaves.
 */
async function writesOnCondition(bucket: Bucket): Promise<boolean> {
  const text = randomBytes(16).toString('hex');
  const key = objectPath(createHash('sha256').update(text).digest('hex'));
  try {
    await bucket.putText(key, text, true);
    return !(await bucket.putText(key, text, true));
  } finally {
    await bucket.remove(key);
  }
}

function troubleIn(error: unknown): ObjectTrouble {
  if (error instanceof StartError) return 'not_ours';
  if (isWrong(error)) return nameOf(error) === 'NoSuchBucket' ? 'no_bucket' : 'refused';
  return statusOf(error) > 0 ? 'failing' : 'unreachable';
}
