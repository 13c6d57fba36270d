// Makes what an installed package runs from instead of the sources: the programs and the client for Node.js in dist/code,
// the page in dist/page, and the licences of what was bundled. npm runs it before it packs; the compiler makes the types.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { build } from 'esbuild';
import { makePage } from '../../gateway/ui/make-page.ts';
import { bundleOf } from '../start/bundler.js';
import { ENTRIES, PACKED, ROOT } from '../start/places.js';
import { notices } from './notices.js';

const DIST = `${ROOT}dist`;
const common = bundleOf(new Map());

process.chdir(ROOT);
rmSync(DIST, { recursive: true, force: true });
const { metafile } = await build({
  ...common,
  entryPoints: { ...ENTRIES, client: 'gateway/client/index.ts' },
  outdir: PACKED,
  external: [
    ...common.external,
    // A worker declares its version, and so it has to be the one that is installed.
    'ml-savitzky-golay-generalized',
    // The page is made here.
    '*/make-page.ts',
  ],
  logLevel: 'warning',
});
// Only now: it ends the bundler's process.
const page = await makePage();
mkdirSync(`${DIST}/page`);
writeFileSync(`${DIST}/page/dashboard.js`, page.script);
writeFileSync(`${DIST}/page/dashboard.css`, page.style);
writeFileSync(`${DIST}/THIRD-PARTY.txt`, notices([...Object.keys(metafile.inputs), ...page.inputs]));
