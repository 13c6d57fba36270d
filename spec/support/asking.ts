// Prints the specifications that ask what is installed: those that import `requires.ts`, be it through others, and ask
// it for more than what the system is like, which is the same on every path.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isOfTheSystem } from './requires.ts';

const SPEC = fileURLToPath(new URL('..', import.meta.url));
const ASKED = join(SPEC, 'support', 'requires.ts');
const REQUIRES = /\brequires\(([^)]*)\)/g;
const IMPORT = /(?:from |import |import\()'(\.[^']+)'/g;

/** Whether all that the file asks for by name is of the system. */
function asksBeyondTheSystem(text: string): boolean {
  const calls = [...text.matchAll(REQUIRES)].map(([, needs]) => needs as string);
  return (
    calls.length === 0 ||
    !calls.every((needs) => needs.split(',').every((need) => isOfTheSystem(need.trim().slice(1, -1))))
  );
}

/** Files of specifications that ask, relative to the repository, in order. */
export function asking(): string[] {
  const asks = new Map<string, boolean>([[ASKED, true]]);
  const looks = (file: string): boolean => {
    const known = asks.get(file);
    if (known !== undefined) return known;
    // Until it is known otherwise, which also ends circles.
    asks.set(file, false);
    if (!file.startsWith(SPEC) || !existsSync(file)) return false;
    const text = readFileSync(file, 'utf8');
    const imported = [...text.matchAll(IMPORT)].map(([, name]) => join(dirname(file), name as string));
    const found = imported.some((one) => looks(one) && (one !== ASKED || asksBeyondTheSystem(text)));
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
