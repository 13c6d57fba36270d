import { createHash } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Runner } from '../config.ts';

/** A module of Python, as an import names it. */
const NAME = /^[A-Za-z_]\w*(\.\w+)*$/;
const MOST_NAMES = 10_000;
const LONGEST = 200;

/**
 * What the tasks of a runner turned out to import, kept for the next worker program. It is a hint: whatever is missing
 * from it a task imports itself. One file for each command with the versions it declares.
 */
export class Learned {
  readonly #file: string;
  /** Folder beside it, for what tasks keep for each other while their host lives. */
  readonly kept: string;
  readonly #modules = new Set<string>();
  readonly #without = new Set<string>();

  constructor(state: string, { library, command, packages }: Runner) {
    const key = createHash('sha256').update(JSON.stringify([command, packages]));
    const name = `${library}-${key.digest('hex').slice(0, 16)}`;
    this.#file = join(state, 'warm', `${name}.json`);
    this.kept = join(state, 'warm-kept', name);
  }

  /** In the order in which they were imported. */
  get modules(): string[] {
    return [...this.#modules];
  }

  /** Packages after whose import no fork is safe. */
  get without(): string[] {
    return [...this.#without];
  }

  /** Reads what was kept; a file that cannot be used is none. */
  async load(): Promise<void> {
    const text = await readFile(this.#file, 'utf8').catch(() => '{}');
    try {
      const { modules, without } = Object(JSON.parse(text));
      for (const name of namesIn(without)) this.#without.add(name);
      this.#take(namesIn(modules));
    } catch {
      // It was cut off, or somebody wrote into it.
    }
  }

  /** @returns those of the names that were not known */
  async add(names: unknown): Promise<string[]> {
    const fresh = this.#take(namesIn(names));
    if (fresh.length > 0) await this.#save();
    return fresh;
  }

  async leaveOut(name: string): Promise<void> {
    this.#without.add(name);
    for (const known of this.#modules) if (packageOf(known) === name) this.#modules.delete(known);
    await this.#save();
  }

  #take(names: readonly string[]): string[] {
    const fresh = names
      .filter((name) => !this.#modules.has(name) && !this.#without.has(packageOf(name)))
      .slice(0, MOST_NAMES - this.#modules.size);
    for (const name of fresh) this.#modules.add(name);
    return fresh;
  }

  async #save(): Promise<void> {
    await mkdir(dirname(this.#file), { recursive: true });
    await writeFile(`${this.#file}.draft`, JSON.stringify({ modules: this.modules, without: this.without }));
    await rename(`${this.#file}.draft`, this.#file);
  }
}

const packageOf = (name: string): string => name.split('.')[0] ?? name;

const namesIn = (value: unknown): string[] =>
  Array.isArray(value)
    ? value.filter((name) => typeof name === 'string' && name.length <= LONGEST && NAME.test(name))
    : [];
