import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { TestContext } from 'node:test';
import { close, listen } from '../support/listen.ts';
import { sha256 } from '../support/sha256.ts';
import { atEnd } from './folder.ts';
import { rawZip } from './raw-zip.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

/** A web server with the index of a catalog and its datasets, on which things go wrong as the test says. */
export class CatalogServer {
  readonly asked: string[] = [];
  /** Replaces what is answered for a path. */
  readonly answers = new Map<string, Answer>();
  readonly entries: Record<string, unknown>[] = [];
  readonly #files = new Map<string, Buffer>();
  #url = '';

  static async start(t: TestContext): Promise<CatalogServer> {
    const catalog = new CatalogServer();
    const server = createServer((request, response) => catalog.#answer(request, response));
    catalog.#url = (await listen(server)).url;
    atEnd(t, () => close(server));
    return catalog;
  }

  get index(): string {
    return `${this.#url}/sets/index.json`;
  }

  /** Adds a dataset: a file of so many bytes in an archive, below a folder. Gives its bytes. */
  add(id: string, version = '1', size = 10, differs: Record<string, unknown> = {}): Buffer {
    const bytes = rawZip([{ name: `${id}/train.csv`, data: `${id}${version}`.padEnd(size, '.') }]);
    this.addFile(`${id}-${version}.zip`, bytes, { id, version, ...differs });
    return bytes;
  }

  addFile(name: string, bytes: Buffer, entry: Record<string, unknown>): void {
    this.#files.set(`/sets/${name}`, bytes);
    this.entries.push({ url: name, sha256: sha256(bytes), ...entry });
  }

  /** How often something was asked for. */
  count(name: string): number {
    return this.asked.filter((path) => path === `/sets/${name}`).length;
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const path = request.url ?? '';
    this.asked.push(path);
    const special = this.answers.get(path);
    if (special) return void special(request, response);
    if (path === '/sets/index.json') return void response.end(JSON.stringify(this.entries));
    const file = this.#files.get(path);
    response.writeHead(file ? 200 : 404).end(file);
  }
}
