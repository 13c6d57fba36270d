import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { NEW_TEMPLATE, type TemplateContext } from '../../machines/fleet/template.ts';
import { writeDurably } from '../worker/delivery/durable.ts';

/** What a fleet keeps of its templates: that they pause and why. What is there, its engines know. */
export class Notes {
  readonly #path: string;
  #written = '';

  constructor(state: string) {
    this.#path = join(state, 'fleet.json');
  }

  /** By template; none where there is no such file, or one that nobody can read. */
  async read(): Promise<Map<string, TemplateContext>> {
    try {
      const noted = JSON.parse(await readFile(this.#path, 'utf8')) as Record<string, TemplateContext>;
      return new Map(Object.entries(noted).map(([name, context]) => [name, { ...NEW_TEMPLATE, ...context }]));
    } catch {
      return new Map();
    }
  }

  async write(contexts: Iterable<readonly [template: string, TemplateContext]>): Promise<void> {
    const text = `${JSON.stringify(Object.fromEntries(contexts))}\n`;
    if (text !== this.#written) await writeDurably(this.#path, text);
    this.#written = text;
  }
}
