import { readFileSync } from 'node:fs';

interface Manifest {
  name?: string;
  version?: string;
}

/**
 * The version in the nearest package.json above a file; folders without a package.json of their own, or with
 * one that only sets the module type, are passed over.
 *
 * @param from URL of a file of the package
 * @param name the package, where a nested package.json must not be taken for it
 * @throws Error if there is none up to the root
 */
export function packageVersion(from: string, name?: string): string {
  let folder = new URL('.', from);
  for (;;) {
    const manifest = readManifest(new URL('package.json', folder));
    if (manifest?.version && (name === undefined || manifest.name === name)) return manifest.version;
    const parent = new URL('..', folder);
    if (parent.href === folder.href) throw new Error(`no package.json with a version above ${from}`);
    folder = parent;
  }
}

function readManifest(url: URL): Manifest | null {
  try {
    return JSON.parse(readFileSync(url, 'utf8')) as Manifest;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}
