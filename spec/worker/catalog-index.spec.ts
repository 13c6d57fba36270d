import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { InputError } from '../../actors/worker/errors.ts';
import { byVersion, choose } from '../../actors/worker/inputs/catalog/choose.ts';
import { type Location, locate, nameOf } from '../../actors/worker/inputs/catalog/source.ts';

const SHA = 'a'.repeat(64);
const FILE: Location = { kind: 'file', path: '/shared/catalog.yaml' };
const WEB = locate('http://data.lab/sets/index.json?token=x');

/** The index of these entries as JSON; `sha256` and `path` may be left out. */
const index = (...entries: Record<string, unknown>[]): string =>
  JSON.stringify(entries.map((entry) => ({ sha256: SHA, ...(!entry.url && { path: 'x.zip' }), ...entry })));
const corn = (...versions: string[]) => index(...versions.map((version) => ({ id: 'corn', version })));
const faults = (pattern: RegExp) => (fault: unknown) =>
  fault instanceof InputError && pattern.test(fault.message);

describe('a dataset of the catalog', () => {
  it('is named with its version, or stands for its newest one', () => {
    const text = corn('1.9', '1.10', '1.2');
    assert.equal(choose(text, 'corn@1.2', FILE).version, '1.2');
    assert.equal(choose(text, 'corn', FILE).version, '1.10');
  });

  it('may hold an @ in its name', () => {
    const text = index({ id: 'lab@basel/corn', version: '1' }, { id: 'lab@basel/corn', version: '2' });
    assert.equal(choose(text, 'lab@basel/corn', FILE).version, '2');
    assert.equal(choose(text, 'lab@basel/corn@1', FILE).version, '1');
  });

  const orders: [string, string[]][] = [
    ['as package versions are', ['0.9', '1', '1.9', '1.10', '2.0rc1', '2.0', '2.0.post1', '1!0.1']],
    ['dates, too', ['2023-11', '2024-01', '2024-02', '2024-10']],
    ['other names in natural order, before all package versions', ['raw-9', 'raw-10', 'scan', '0.1']],
  ];
  for (const [how, versions] of orders) {
    it(`has versions ordered ${how}`, () => {
      assert.deepEqual([...versions].reverse().sort(byVersion), versions);
      assert.equal(choose(corn(...versions), 'corn', FILE).version, versions.at(-1));
    });
  }

  it('is reported as unknown, or its version is, with what there is', () => {
    const text = corn('1', '2');
    assert.throws(() => choose(text, 'wheat', FILE), faults(/no dataset 'wheat'; it has corn$/));
    assert.throws(() => choose(text, 'corn@3', FILE), faults(/no version '3' of 'corn'; it has 1, 2$/));
    assert.throws(() => choose('[]', 'corn', FILE), faults(/it has none$/));
    const many = index(...Array.from({ length: 12 }, (_, i) => ({ id: `d${i}`, version: '1' })));
    assert.throws(() => choose(many, 'corn', FILE), faults(/d9, 2 more$/));
  });

  it('must be the same bytes wherever a version is listed twice', () => {
    const twice = (sha256: string) =>
      index({ id: 'corn', version: '1' }, { id: 'corn', version: '1', sha256, path: 'mirror.zip' });
    assert.equal(choose(twice(SHA), 'corn', FILE).version, '1');
    assert.throws(() => choose(twice('b'.repeat(64)), 'corn', FILE), faults(/corn@1 twice/));
  });
});

describe('the index of a catalog', () => {
  it('may be YAML, whose versions are read as they are written', () => {
    const yaml = `- {id: corn, version: 1.10, sha256: "sha256:${SHA.toUpperCase()}", path: corn.zip}\n- {id: corn, version: 1.9, sha256: ${SHA}, path: old.zip}\n`;
    const { version, sha256, location } = choose(yaml, 'corn', FILE);
    assert.deepEqual([version, sha256, nameOf(location)], ['1.10', SHA, '/shared/corn.zip']);
    assert.equal(
      choose(`[{"id":"corn","version":1.0,"path":"x","sha256":"${SHA}"}]`, 'corn', FILE).version,
      '1.0',
    );
  });

  it('names files by addresses or paths, relative to the index', () => {
    const at = (entry: Record<string, unknown>, where: Location) =>
      nameOf(choose(index({ id: 'corn', version: '1', ...entry }), 'corn', where).location);
    assert.equal(at({ path: 'a/b.zip' }, FILE), '/shared/a/b.zip');
    assert.equal(at({ path: '/data/b.zip' }, WEB), '/data/b.zip');
    assert.equal(at({ url: 'corn/1.zip' }, WEB), 'http://data.lab/sets/corn/1.zip');
    assert.equal(at({ url: 'corn/1.zip' }, FILE), '/shared/corn/1.zip');
    assert.equal(at({ url: 'https://elsewhere/c.zip' }, FILE), 'https://elsewhere/c.zip');
    assert.equal(at({ url: 'file:///data/c.zip' }, FILE), '/data/c.zip');
  });

  it('sends its credentials to its own server alone, and shows them in no message', () => {
    const secret = locate('https://ann:pw@data.lab/index.json');
    const urlOf = (url: string) => {
      const { location } = choose(index({ id: 'corn', version: '1', url }), 'corn', secret);
      return location.kind === 'http' ? location.url.password : '';
    };
    assert.equal(urlOf('corn.zip'), 'pw');
    assert.equal(urlOf('https://elsewhere/corn.zip'), '');
    assert.equal(nameOf(secret), 'https://data.lab/index.json');
  });

  const broken: [string, string, RegExp, Location?][] = [
    ['is no list', '{"corn": 1}', /not a list/],
    ['cannot be read', '[{"id": ', /neither JSON nor YAML/],
    ['gives no version', index({ id: 'corn' }), /no version for 'corn'/],
    ['gives no checksum', index({ id: 'corn', version: '1', sha256: 'abc' }), /corn@1 has no sha256/],
    [
      'gives both url and path',
      index({ id: 'corn', version: '1', url: 'http://x/', path: '/x' }),
      /either url or path/,
    ],
    ['gives neither', JSON.stringify([{ id: 'corn', version: '1', sha256: SHA }]), /either url or path/],
    ['gives another protocol', index({ id: 'corn', version: '1', url: 'ftp://x/y' }), /not an http address/],
    ['gives no address', index({ id: 'corn', version: '1', url: 'http://[' }), /not an address/],
    [
      'gives a relative path without being a file',
      index({ id: 'corn', version: '1' }),
      /must be absolute/,
      WEB,
    ],
  ];
  for (const [what, text, message, where = FILE] of broken) {
    it(`is refused when it ${what}`, () => assert.throws(() => choose(text, 'corn', where), faults(message)));
  }

  it('may have a mistake in an entry that is not asked for', () => {
    const text = index(
      { id: 'wheat' },
      { id: 'corn', version: '1' },
      { id: 'rye', version: '1', sha256: '?' },
    );
    assert.equal(choose(text, 'corn', FILE).version, '1');
  });
});
