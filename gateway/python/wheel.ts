import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type { Route } from '../contract/route.ts';
import { API_VERSION, PACKAGE_VERSION } from '../version.ts';
import { archiveOf } from './archive.ts';
import { routesModule } from './routes-module.ts';
import { wordsModule } from './words-module.ts';

/** The hand-made part of the package; it is read where it lies, also in what npm packs. */
const SOURCES = new URL('./jq_cluster/', import.meta.url);
const PACKAGE = 'jq_cluster';

/** A file that is offered to everybody. */
export interface OfferedFile {
  name: string;
  bytes: Buffer;
  sha256: string;
}

/** The client for Python, in the two forms in which it is installed. */
export interface PythonClient {
  /** For those who name a file that is called like a wheel. */
  wheel: OfferedFile;
  /**
   * For `pip install` of an address that is called otherwise: pip takes what lies there for a source tree, whatever the
   * answer says of it. This one has a build backend of its own that hands out the wheel, so nothing else is needed.
   */
  source: OfferedFile;
}

/**
 * Makes the client for Python of its sources and the table of routes. The same sources give the same bytes. Its version
 * is that of the server, that of the protocol, and a digest of its content: pip replaces what has another.
 */
export async function pythonClient(table: readonly (readonly [string, Route])[]): Promise<PythonClient> {
  const files = await moduleFiles(table);
  const digest = sha256Of(Buffer.concat([...files].flatMap(([name, bytes]) => [Buffer.from(name), bytes])));
  const version = `${PACKAGE_VERSION}+api${API_VERSION}.${digest.toString('hex').slice(0, 8)}`;
  files.set(`${PACKAGE}/_version.py`, text(versionModule(version)));
  const name = `${PACKAGE}-${version}-py3-none-any.whl`;
  const wheel = offered(name, await archiveOf(withMetadata(files, version)));
  return { wheel, source: offered(`${PACKAGE}-${version}.zip`, await archiveOf(sourceTree(wheel, version))) };
}

async function moduleFiles(table: readonly (readonly [string, Route])[]): Promise<Map<string, Buffer>> {
  const names = (await readdir(SOURCES)).filter((name) => /\.(py|typed)$/.test(name));
  const contents = names.map(async (name) => [name, await readFile(new URL(name, SOURCES))] as const);
  const made = [
    ['_routes.py', text(routesModule(table))],
    ['_words.py', text(wordsModule())],
  ] as const;
  const all = [...(await Promise.all(contents)), ...made].sort(([a], [b]) => (a < b ? -1 : 1));
  return new Map(all.map(([name, bytes]) => [`${PACKAGE}/${name}`, bytes]));
}

const versionModule = (version: string): string =>
  [
    '"""What this client is of. Made with the wheel."""',
    '',
    `__version__ = "${version}"`,
    '#: Of the server that offered it.',
    `SERVER_VERSION = "${PACKAGE_VERSION}"`,
    '#: The protocol major.',
    `API_VERSION = ${API_VERSION}`,
    '',
  ].join('\n');

/** Adds what makes a wheel of a package (PEP 427, and PEP 376 for RECORD). */
function withMetadata(files: ReadonlyMap<string, Buffer>, version: string): Map<string, Buffer> {
  const folder = `${PACKAGE}-${version}.dist-info`;
  const all = new Map(files);
  all.set(`${folder}/METADATA`, text(metadata(version)));
  all.set(
    `${folder}/WHEEL`,
    text(lines('Wheel-Version: 1.0', 'Generator: jq-cluster', 'Root-Is-Purelib: true', 'Tag: py3-none-any')),
  );
  all.set(`${folder}/top_level.txt`, text(lines(PACKAGE)));
  const rows = [...all].map(
    ([name, bytes]) => `${name},sha256=${sha256Of(bytes).toString('base64url')},${bytes.length}`,
  );
  all.set(`${folder}/RECORD`, text(lines(...rows, `${folder}/RECORD,,`)));
  return all;
}

const metadata = (version: string): string =>
  lines(
    'Metadata-Version: 2.1',
    'Name: jq-cluster',
    `Version: ${version}`,
    'Summary: Client of a jq-cluster server: data-analysis jobs from Python and notebooks',
    'License: Apache-2.0',
    'Requires-Python: >=3.9',
    'Classifier: Typing :: Typed',
  );

/** A source tree that holds the wheel, and a build backend (PEP 517) that has nothing to do. */
function sourceTree(wheel: OfferedFile, version: string): Map<string, Buffer> {
  const root = `${PACKAGE}-${version}`;
  return new Map([
    [`${root}/pyproject.toml`, text(PYPROJECT)],
    [`${root}/backend.py`, text(BACKEND.replace('WHEEL_NAME', JSON.stringify(wheel.name)))],
    [`${root}/${wheel.name}`, wheel.bytes],
  ]);
}

const PYPROJECT = `[build-system]
requires = []
build-backend = "backend"
backend-path = ["."]
`;

const BACKEND = `"""Hands out the wheel that lies beside it."""

import os
import shutil

NAME = WHEEL_NAME


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    here = os.path.dirname(os.path.abspath(__file__))
    shutil.copyfile(os.path.join(here, NAME), os.path.join(wheel_directory, NAME))
    return NAME
`;

const lines = (...all: string[]): string => `${all.join('\n')}\n`;
const text = (content: string): Buffer => Buffer.from(content, 'utf8');
const sha256Of = (bytes: Buffer): Buffer => createHash('sha256').update(bytes).digest();
const offered = (name: string, bytes: Buffer): OfferedFile => ({
  name,
  bytes,
  sha256: sha256Of(bytes).toString('hex'),
});
