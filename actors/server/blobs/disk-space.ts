import { statfs } from 'node:fs/promises';
import { ClusterError } from '../../../machines/protocol/errors.ts';

const MIB = 1024 * 1024;
/** Bytes of an upload between two looks at the disk, which others write to as well. */
const SLICE = 16 * MIB;

/** Bytes that this user may still write on the disk of a folder; without end where the system does not tell. */
export async function freeBytes(folder: string): Promise<number> {
  try {
    const { bavail, bsize } = await statfs(folder);
    return bavail * bsize;
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}

/**
 * The room that artifacts may take: all that is free, less a reserve for the store, so that jobs and reports go on
 * when artifacts fill the disk. Uploads under way are counted together, by what they may still write.
 */
export class DiskSpace {
  readonly #reserve: number;
  readonly #free: () => Promise<number>;
  /** Granted to uploads and not written yet. */
  #promised = 0;
  /** Granted since the start of the server, written or not. */
  #grantedEver = 0;

  /** @param reserve in bytes */
  constructor(reserve: number, free: () => Promise<number>) {
    this.#reserve = reserve;
    this.#free = free;
  }

  /**
   * Room for an upload.
   * @param expected bytes that it will write at most; 0 where nobody knows
   * @throws ClusterError `no_room`
   */
  async reserve(expected: number): Promise<Reservation> {
    await this.grant(expected, expected);
    return new Reservation(this, expected);
  }

  /** Promises `least` bytes, or as many more up to `most` as leave half of the room to others. */
  async grant(least: number, most: number): Promise<number> {
    // Of what is written while the disk is looked at, nobody knows whether it was counted: it counts as promised,
    // and so does what is granted meanwhile, which may be written before the look ends as well.
    const before = this.#promised - this.#grantedEver;
    const free = await this.#free();
    const space = free - (before + this.#grantedEver) - this.#reserve;
    if (space < least) throw this.#full();
    const granted = Math.max(least, Math.min(most, Math.floor(space / 2)));
    this.#promised += granted;
    this.#grantedEver += granted;
    return granted;
  }

  /** Bytes are written, or will never be. */
  settle(bytes: number): void {
    this.#promised -= bytes;
  }

  #full(): ClusterError {
    const kept = `the server keeps ${Math.ceil(this.#reserve / MIB)} MiB of its disk for jobs and reports`;
    const detail = `${kept} (--reserve-mb), and the artifact does not fit beside them; free space there and try again`;
    return new ClusterError('no_room', detail);
  }
}

/** One upload's part of the room. */
export class Reservation {
  readonly #space: DiskSpace;
  #granted: number;
  #sinceLook = 0;

  constructor(space: DiskSpace, granted: number) {
    this.#space = space;
    this.#granted = granted;
  }

  /** To be called before bytes are written. @throws ClusterError `no_room` */
  async need(bytes: number): Promise<void> {
    const missing = Math.max(0, bytes - this.#granted);
    this.#sinceLook += bytes;
    if (missing === 0 && this.#sinceLook < SLICE) return;
    this.#sinceLook = 0;
    this.#granted += await this.#space.grant(missing, missing === 0 ? 0 : Math.max(missing, SLICE));
  }

  wrote(bytes: number): void {
    this.#granted -= bytes;
    this.#space.settle(bytes);
  }

  /** Nothing more will be written. Idempotent. */
  release(): void {
    this.#space.settle(this.#granted);
    this.#granted = 0;
  }
}
