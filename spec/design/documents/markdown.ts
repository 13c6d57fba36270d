import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Every file of the repository, also one that is new, whose name the test takes; nothing that is made or installed. */
export function filesBelow(root: string, takes: (name: string) => boolean): string[] {
  const listed = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  return [...new Set(listed.split('\0'))].filter((path) => takes(path) && existsSync(join(root, path)));
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
