import { readFileSync } from 'node:fs';
import { relative, sep } from 'node:path';
import { ROOT } from './places.js';

/** Loaded from their packages: native code, the bundler itself, and what is only loaded where somebody asks for it. */
const OUTSIDE = ['sqlite3', 'uWebSockets.js', 'esbuild', '@aws-sdk/*'];

/**
 * How the programs are bundled, for the bundler; what is added says what and where to. The folder of the bundle lies two
 * folders below the root.
 * @param {Map<string, Buffer>} sources gets the project's own sources that went in, by their paths from the root
 */
export const bundleOf = (sources) => ({
  absWorkingDir: ROOT,
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  external: OUTSIDE,
  plugins: [ownSources(sources)],
  tsconfigRaw: {},
  legalComments: 'none',
  // Packages in the older form ask for the modules of Node.js with `require`.
  banner: {
    js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);",
  },
  metafile: true,
  logLevel: 'silent',
});

/**
 * Hands the project's sources to the bundler and keeps what it got. A source that asks for its own address is told the
 * one that it has, and not that of the bundle: files lie beside it.
 * @param {Map<string, Buffer>} sources by their paths from the root
 * @returns {import('esbuild').Plugin}
 */
const ownSources = (sources) => ({
  name: 'own sources',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const name = relative(ROOT, path).replaceAll(sep, '/');
      if (/^\.\.\/|^\w:|(^|\/)node_modules\//.test(name)) return undefined;
      const bytes = readFileSync(path);
      sources.set(name, bytes);
      const address = `new URL(${JSON.stringify(`../../${encodeURI(name)}`)}, import.meta.url).href`;
      return { contents: bytes.toString('utf8').replaceAll('import.meta.url', address), loader: 'ts' };
    });
  },
});
