import { fileURLToPath } from 'node:url';
import { build, stop } from 'esbuild';
import { API_VERSION, PACKAGE_VERSION } from '../version.ts';

const ENTRY = fileURLToPath(new URL('./client/main.tsx', import.meta.url));

export interface MadePage {
  script: string;
  style: string;
  /** The files that went into it, from the working directory. */
  inputs: string[];
}

/** Bundles the modules under `client/`, in memory. */
export async function makePage(): Promise<MadePage> {
  try {
    const { outputFiles, metafile } = await build({
      entryPoints: [ENTRY],
      bundle: true,
      write: false,
      outdir: 'dashboard',
      format: 'iife',
      target: ['chrome123', 'firefox121', 'safari17.5'],
      minify: true,
      charset: 'utf8',
      // Licences of what is bundled travel with it.
      legalComments: 'eof',
      metafile: true,
      logLevel: 'silent',
      define: {
        PACKAGE_VERSION: JSON.stringify(PACKAGE_VERSION),
        API_VERSION: JSON.stringify(API_VERSION),
      },
    });
    const ending = (suffix: string) => outputFiles.find(({ path }) => path.endsWith(suffix))?.text ?? '';
    return { script: ending('.js'), style: ending('.css'), inputs: Object.keys(metafile.inputs) };
  } finally {
    // The bundler's own process would wait for more work for as long as the server runs.
    await stop();
  }
}
