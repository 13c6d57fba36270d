// Prints the specifications that ask what is installed: those that import `requires.ts`, be it through others.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const SPEC = fileURLToPath(new URL('..', import.meta.url));
const ASKED = join(SPEC, 'support', 'requires.ts');
const IMPORT = /(?:from |import |import\()'(\.[^']+)'/g;

/** Files of specifications that ask, relative to the repository, in order. */
export function asking(): string[] {
  const asks = new Map<string, boolean>([[ASKED, true]]);
  const looks = (file: string): boolean => {
    const known = asks.get(file);
    if (known !== undefined) return known;
    // Until it is known otherwise, which also ends circles.
    asks.set(file, false);
    if (!file.startsWith(SPEC) || !existsSync(file)) return false;
    const imported = [...readFileSync(file, 'utf8').matchAll(IMPORT)].map(([, name]) =>
      join(dirname(file), name as string),
    );
    const found = imported.some(looks);
    asks.set(file, found);
    return found;
  };
  const names = readdirSync(SPEC, { recursive: true, encoding: 'utf8' });
  const files = names.filter((name) => name.endsWith('.spec.ts')).map((name) => join(SPEC, name));
  return files
    .filter(looks)
    .map((file) => relative(join(SPEC, '..'), file))
    .sort();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) console.log(asking().join('\n'));
