import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { objectPath } from '../../actors/server/blobs/paths.ts';
import type { Seeded } from '../support/seeded.ts';
import { type Ledger, only } from './ledger.ts';
import type { Line } from './line.ts';

interface Spoilt {
  id: string;
  path: string;
  good: Buffer;
  size: number;
  sha256: string;
}

interface RotOptions {
  state: string;
  url: string;
  ledger: Ledger;
  line: Line;
  chance: Seeded;
  /** For the file that is uploaded again. */
  scratch: string;
}

/**
 * What a bad disk does to the objects of a server while it is away: the bytes of one acknowledged artifact rot, those
 * of another are gone. Nobody may be given either as whole, and the same bytes, uploaded again, mend them.
 */
export class Rot {
  readonly #options: RotOptions;
  readonly #spoilt: Spoilt[] = [];

  constructor(options: RotOptions) {
    this.#options = options;
  }

  /** While no server runs. @returns how many objects were spoilt */
  spoil(): number {
    const { ledger, chance, state } = this.#options;
    // The same bytes may have been uploaded more than once.
    const acks = [...new Map(only(ledger.read(), 'artifact').map((ack) => [ack.sha256, ack])).values()];
    for (const isRemoved of [true, false]) {
      if (acks.length === 0) break;
      const [{ id, sha256, size }] = acks.splice(chance.below(acks.length), 1) as [(typeof acks)[number]];
      const path = join(state, objectPath(sha256));
      const good = readFileSync(path);
      this.#spoilt.push({ id, path, good, size, sha256 });
      if (isRemoved) rmSync(path);
      else writeFileSync(path, rotten(good, chance));
    }
    return this.#spoilt.length;
  }

  /** Downloads and mends what was spoilt, at a server that runs. @returns what is wrong, a line each */
  async lookAndMend(): Promise<string[]> {
    const faults: string[] = [];
    for (const spoilt of this.#spoilt.splice(0)) {
      const { id } = spoilt;
      const first = await this.#download(spoilt);
      if (first !== 'lost' && first !== 'broken off') faults.push(`the spoilt artifact ${id} is ${first}`);
      const second = await this.#download(spoilt);
      if (second !== 'lost') faults.push(`the artifact ${id}, known to be spoilt, is ${second}`);
      await this.#uploadAgain(spoilt);
      const third = await this.#download(spoilt);
      if (third !== 'whole') faults.push(`the artifact ${id}, uploaded again, is ${third}`);
    }
    return faults;
  }

  async #download({ id, good }: Spoilt): Promise<string> {
    const answer = await fetch(`${this.#options.url}/v1/artifacts/${id}`);
    if (answer.status === 410) return 'lost';
    if (answer.status !== 200) return `answered with ${answer.status}`;
    return answer.arrayBuffer().then(
      (bytes) => (good.equals(Buffer.from(bytes)) ? 'whole' : 'given with other bytes'),
      () => 'broken off',
    );
  }

  async #uploadAgain({ good, size, sha256 }: Spoilt): Promise<void> {
    const { line, ledger, scratch } = this.#options;
    const file = join(scratch, 'again');
    writeFileSync(file, good);
    const stored = await line.persist(() => line.client.upload('uploadArtifact', { file }));
    ledger.add({ what: 'artifact', id: stored.artifact_id, sha256, size });
    rmSync(file);
  }
}

/** A few bits flipped. */
function rotten(good: Buffer, chance: Seeded): Buffer {
  const bytes = Buffer.from(good);
  // At one place at least, and never twice at one.
  for (let at = chance.below(bytes.length); at < bytes.length; at += 100_000) {
    bytes[at] = (bytes[at] as number) ^ 0x10;
  }
  return bytes;
}
