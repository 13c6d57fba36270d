// Makes the module that `import … from 'jq-cluster/client'` loads. npm runs it before it packs; its types the compiler
// makes.
import { rmSync } from 'node:fs';
import { build } from 'esbuild';
import { ownSources } from './make.js';
import { ROOT } from './places.js';

const FOLDER = `${ROOT}dist/client`;

rmSync(FOLDER, { recursive: true, force: true });
await build({
  absWorkingDir: ROOT,
  entryPoints: { index: 'gateway/client/index.ts' },
  outdir: FOLDER,
  bundle: true,
  // They are installed with this package, like those of its programs.
  packages: 'external',
  format: 'esm',
  platform: 'node',
  target: 'node20',
  plugins: [ownSources(new Map())],
  tsconfigRaw: {},
  legalComments: 'none',
  logLevel: 'warning',
});
