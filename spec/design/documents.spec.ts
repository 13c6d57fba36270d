import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { describe, test } from 'node:test';
import { MACHINES } from '../../machines/charts/catalogue.ts';
import { chartOf } from '../../machines/charts/graph.ts';
import { MACHINE_NAMES } from '../../machines/charts/names.ts';
import { anchorsOf, filesBelow, linksOf, prose, readText } from './documents/markdown.ts';
import { documentsMade, PARTS, ROOT, withPart } from './documents/parts.ts';
import { importsOf } from './imports.ts';

const read = (path: string) => readText(ROOT, path);
const documents = filesBelow(ROOT, (name) => name.endsWith('.md'));
const sources = filesBelow(ROOT, (name) => /\.(tsx?|js|mjs|py|sh|sql|css)$/.test(name));

/** A path below one of the repository's folders that stands as code in a document's text. */
const PATH = /`((?:machines|gateway|actors|bin|spec|docs|examples)\/[\w./-]*\w)\/?`/g;

/** What is wrong with a link or citation, by its target below the repository; undefined for a good one. */
function fault(path: string, anchor: string | undefined): string | undefined {
  if (!existsSync(join(ROOT, path))) return `there is no ${path}`;
  if (anchor === undefined || anchor === '' || !path.endsWith('.md')) return undefined;
  return anchorsOf(read(path)).has(anchor) ? undefined : `${path} has no heading #${anchor}`;
}

describe('the generated parts of the documents', () => {
  test('agree with the code that runs', () => {
    for (const [document, made] of documentsMade()) {
      // Not compared as a whole, so that a failure is one sentence.
      assert.ok(made === read(document), `${document} is out of date; make it anew with: npm run docs`);
    }
  });

  test('show every statechart with every state', () => {
    const drawn = read('docs/statecharts.md');
    for (const name of MACHINE_NAMES) {
      const [, after = ''] = drawn.split(`## \`${name}\``);
      const [diagram = ''] = (after.split('```mermaid\n')[1] ?? '').split('```');
      for (const { id, key, parent } of chartOf(MACHINES[name].machine).states) {
        if (parent === null) continue;
        assert.ok(diagram.includes(`state "${key}" as ${id.replaceAll('.', '_')}`), `${name}: ${id}`);
      }
    }
  });

  test('are found to be out of date when something is missing, and can be generated again', () => {
    for (const [name, { document, make }] of Object.entries(PARTS)) {
      const text = read(document);
      const old = withPart(text, name, 'old');
      assert.notEqual(old, text);
      assert.ok(withPart(old, name, make()) === text, `${document}: ${name}`);
    }
  });

  test('leave everything around them as it is', () => {
    const [begin, end] = ['<!-- made by npm run docs: limits -->', '<!-- made: end -->'];
    const made = withPart(`before\n${begin}\nold\n${end}\nafter\n`, 'limits', 'new');
    assert.equal(made, `before\n${begin}\n\nnew\n\n${end}\nafter\n`);
    assert.throws(() => withPart('no place', 'limits', 'new'), /no place for: .*limits/);
  });
});

describe('the documents', () => {
  test('link to files and headings that are there', () => {
    const wrong = documents.flatMap((document) =>
      linksOf(read(document)).flatMap((target) => {
        const [path = '', anchor] = decodeURIComponent(target).split('#');
        const place = path === '' ? document : normalize(join(dirname(document), path));
        const what = fault(place, anchor);
        return what === undefined ? [] : [`${document}: ${target}: ${what}`];
      }),
    );
    assert.deepEqual(wrong, []);
    assert.ok(documents.length > 20, 'the look at the documents found them');
  });

  test('name files of the repository that are there', () => {
    // A report names what was there when it was written, and so does the list of changes.
    const today = documents.filter((document) => !/(^CHANGELOG|\/REPORT)\.md$/.test(document));
    const named = today.flatMap((document) =>
      [...prose(read(document)).matchAll(PATH)].map(([, path]) => ({ document, path: path as string })),
    );
    const wrong = named.filter(({ path }) => !existsSync(join(ROOT, path)));
    assert.deepEqual(wrong, []);
    assert.ok(named.length > 10, `${named.length} names were found`);
  });

  test('name only what stands in the file that they link: `name` of [words](file.ts), or in it', () => {
    const said = documents.flatMap((document) =>
      [...read(document).matchAll(/`(\w+)`[ \n]+(?:of|in)[ \n]+\[[^\]]+\]\(([\w./-]+\.[jt]sx?)\)/g)].map(
        ([text, name, path]) => ({
          document,
          text,
          name,
          path: normalize(join(dirname(document), path ?? '')),
        }),
      ),
    );
    const wrong = said.filter(({ name, path }) => !new RegExp(`\\b${name}\\b`).test(read(path)));
    assert.deepEqual(wrong, []);
    assert.ok(said.length > 5, `${said.length} names were found`);
  });

  test('are cited by the code under headings that they have', () => {
    const cited = sources.flatMap((source) =>
      [...read(source).matchAll(/\b(docs\/[\w/-]+\.md)(?:#([\w-]+))?/g)].map((match) => ({ source, match })),
    );
    const wrong = cited.flatMap(({ source, match: [text, path = '', anchor] }) => {
      const what = fault(path, anchor);
      return what === undefined ? [] : [`${source} cites ${text}: ${what}`];
    });
    assert.deepEqual(wrong, []);
    assert.ok(cited.length > 40, `${cited.length} citations were found`);
  });

  test('are the only ones that the code cites', () => {
    // By heading, in one form: `docs/protocol.md#limits`.
    const elsewhere = /\b(contract|specification|README)(\.md)? ?[,(] ?"|^\s*(\/\*\*|\*|#) contract, /i;
    const wrong = sources.flatMap((source) =>
      read(source)
        .split('\n')
        .flatMap((line, i) => (elsewhere.test(line) ? [`${source}:${i + 1}: ${line.trim()}`] : [])),
    );
    assert.deepEqual(wrong, []);
  });

  test('map every room of the code, and no other', () => {
    const map = prose(read('docs/architecture.md')).split('## The map')[1] ?? '';
    const mapped = [...map.matchAll(/^\| `([\w/-]+)` +\|/gm)].map(([, room]) => room as string);
    assert.deepEqual(
      mapped.filter((room) => !existsSync(join(ROOT, room))),
      [],
      'rooms on the map that are not there',
    );
    const rooms = ['machines', 'gateway', 'actors', 'bin'].flatMap(roomsOf);
    // A room within one that is described as a whole needs no line of its own.
    const whole = mapped.filter((room) => room.split('/').length > 1);
    const missing = rooms.filter(
      (room) => !mapped.includes(room) && !whole.some((outer) => room.startsWith(`${outer}/`)),
    );
    assert.deepEqual(missing, [], 'rooms that are not on the map');
  });

  test('have a table of the rooms of specifications, with every one and no other', () => {
    const [, after = ''] = prose(read('CONTRIBUTING.md')).split('## Specifications');
    const named = [...after.matchAll(/^\| `spec\/([\w-]+)` +\|/gm)].map(([, room]) => room as string);
    const entries = readdirSync(join(ROOT, 'spec'), { withFileTypes: true });
    const rooms = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    assert.deepEqual(named, rooms.sort());
  });

  test('lead from a route to the disk by fifteen stations, each joined by the code to what stands before it', () => {
    const [, after = ''] = read('docs/architecture.md').split("## One message's way");
    const [way = ''] = after.split('\nIn the same turn');
    // Of each station the file, and behind it what it leans on.
    const steps = (way.match(/^\d+\. .*(?:\n {3}.*)*/gm) ?? []).map((step) =>
      linksOf(step).map((link) => normalize(join('docs', link))),
    );
    const stations = steps.map(([file]) => file as string);
    assert.equal(new Set(stations).size, 15);
    assert.match(stations[0] as string, /^gateway\/contract\/routes\//);
    assert.equal(stations.at(-1), 'actors/server/store/turn-sql.ts');
    const files = steps.flat();
    const imports = new Map(files.map((file) => [file, new Set(importsOf(ROOT, file))]));
    const alone = files.filter(
      (file, i) =>
        i > 0 && !files.slice(0, i).some((e) => imports.get(e)?.has(file) || imports.get(file)?.has(e)),
    );
    assert.deepEqual(alone, [], 'files that none before them imports, and that import none of these');
  });

  test('begin with a README of at most 200 lines, and have a glossary of at most 30 words', () => {
    assert.ok(read('README.md').split('\n').length <= 201);
    const [, , ...words] = read('docs/glossary.md').match(/^\|.*\|$/gm) ?? [];
    assert.ok(words.length > 10 && words.length <= 30, `${words.length} words`);
  });

  test('mark in the list of decisions those that have been replaced', () => {
    const list = read('docs/decisions/README.md');
    assert.match(list, /^\| 9 +\| .*\(0009-[\w-]+\.md\), replaced by 20 +\|$/m);
    const replaced = documents.filter((name) => /^\*\*Replaced\*\* by /m.test(read(name)));
    assert.equal(list.match(/, replaced by \d+ +\|$/gm)?.length, replaced.length);
  });

  test('number each decision once, and say why, what, what was measured, and when to look at it again', () => {
    const names = readdirSync(join(ROOT, 'docs/decisions')).filter((name) => name !== 'README.md');
    const numbers = names.map((name) => /^(\d{4})-[\w-]+\.md$/.exec(name)?.[1]);
    assert.ok(!numbers.includes(undefined), 'a decision is called 0000-what-it-is-about.md');
    assert.equal(new Set(numbers).size, numbers.length);
    for (const name of names) {
      const text = read(`docs/decisions/${name}`);
      for (const lead of ['Context.', 'Decision.', 'Measured', 'Look at it again'])
        assert.ok(text.includes(`\n**${lead}`), `${name} has no ${lead}`);
    }
  });
});

/** A folder and those below it, as far as there are sources in them. */
function roomsOf(folder: string): string[] {
  const entries = readdirSync(join(ROOT, folder), { withFileTypes: true });
  const hasSources = entries.some((entry) => entry.isFile() && /\.(tsx?|js|py|sql)$/.test(entry.name));
  const below = entries.flatMap((entry) => (entry.isDirectory() ? roomsOf(`${folder}/${entry.name}`) : []));
  return hasSources ? [folder, ...below] : below;
}
