import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Folders that are made, installed or kept by others. */
const NOT_OURS = new Set([
  'node_modules',
  '.git',
  '.bundle',
  'demo-results',
  'cluster-state',
  'worker-state',
]);

/** Every file below the repository that a person keeps and whose name the test takes, by its path. */
export function filesBelow(root: string, takes: (name: string) => boolean, below = ''): string[] {
  return readdirSync(join(root, below), { withFileTypes: true }).flatMap((entry) => {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : filesBelow(root, takes, path);
    return takes(entry.name) ? [path] : [];
  });
}

/** A document without its blocks of code, in which nothing is a heading or a link. */
export const prose = (text: string): string => text.replace(/^(```+)[^\n]*\n[\s\S]*?^\1[ \t]*$/gm, '');

/** The anchors of a document's headings, as GitHub makes them. */
export function anchorsOf(text: string): Set<string> {
  const anchors = new Set<string>();
  for (const [, title = ''] of prose(text).matchAll(/^#{1,6} +(.+?) *$/gm)) {
    const slug = title
      .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\p{M} _-]/gu, '')
      .replaceAll(' ', '-');
    let anchor = slug;
    for (let n = 1; anchors.has(anchor); n++) anchor = `${slug}-${n}`;
    anchors.add(anchor);
  }
  return anchors;
}

/** The targets of a document's links and pictures that lie in the repository. */
export function linksOf(text: string): string[] {
  const written = prose(text).replace(/`[^`\n]*`/g, '');
  const inline = [...written.matchAll(/\]\(([^)\s]+)\)/g)];
  const named = [...written.matchAll(/^\[[^\]]+\]: +(\S+)$/gm)];
  return [...inline, ...named]
    .map(([, target]) => target as string)
    .filter((target) => !/^[a-z][a-z0-9+.-]*:/i.test(target));
}

/** The blocks of a document that say of themselves that they can be run, in their order. */
export const runnable = (text: string): string[] =>
  [...text.matchAll(/^```sh runnable\n([\s\S]*?)^```$/gm)].map(([, block]) => block as string);

export const readText = (root: string, path: string): string => readFileSync(join(root, path), 'utf8');
