import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { TestContext } from 'node:test';
import { create } from 'tar';
import { listenFor } from './listen.ts';
import { ROOT } from './program.ts';

interface Manifest {
  name: string;
  version: string;
}

/**
 * A registry of packages on this machine, for npm: it has those that are installed here, as they are installed, with the
 * native code that was compiled then. So an installation asks nobody else, and compiles nothing.
 * @returns its address
 */
export async function startRegistry(t: TestContext): Promise<string> {
  const folders = new Map(installed(join(ROOT, 'node_modules')));
  let url = '';
  const server = createServer(async ({ url: path = '' }, response) => {
    const [asked = '', version] = decodeURIComponent(path).slice(1).split('/-/');
    const found = [...folders].filter(([, { name }]) => name === asked);
    const [folder] = found.find(([, manifest]) => manifest.version === version) ?? [];
    if (folder !== undefined) {
      const filter = (file: string) => !/^\.\/(node_modules|build\/Release\/obj[^/]*)(\/|$)/.test(file);
      await pipeline(create({ cwd: folder, prefix: 'package', portable: true, filter }, ['.']), response);
      return;
    }
    if (found.length === 0 || version !== undefined) {
      response.writeHead(404).end('{}');
      return;
    }
    const versions = found.map(([, manifest]) => {
      const tarball = `${url}/${encodeURIComponent(manifest.name)}/-/${manifest.version}`;
      return [manifest.version, { ...manifest, dist: { tarball } }] as const;
    });
    const latest = versions.at(-1)?.[0];
    const document = { name: asked, 'dist-tags': { latest }, versions: Object.fromEntries(versions) };
    response.end(JSON.stringify(document));
  });
  url = (await listenFor(t, server)).url;
  return url;
}

/** The folders of packages below one of npm, with their manifests. */
function* installed(packages: string): Generator<[folder: string, manifest: Manifest]> {
  for (const name of namesIn(packages)) {
    const folder = join(packages, name);
    yield [folder, JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest];
    yield* installed(join(folder, 'node_modules'));
  }
}

function namesIn(packages: string): string[] {
  const visible = (folder: string) => {
    try {
      return readdirSync(folder).filter((name) => !name.startsWith('.'));
    } catch {
      // Most packages have none below them.
      return [];
    }
  };
  return visible(packages).flatMap((name) =>
    name.startsWith('@') ? visible(join(packages, name)).map((one) => `${name}/${one}`) : [name],
  );
}
