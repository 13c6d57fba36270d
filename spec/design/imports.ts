import { dirname, normalize } from 'node:path';
import { readText } from './documents/markdown.ts';

/** The files that a file imports, for a value or a type, at once or when it is needed; paths below the root. */
export const importsOf = (root: string, file: string): string[] =>
  [...readText(root, file).matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(([, path]) =>
    normalize(`${dirname(file)}/${path}`),
  );
