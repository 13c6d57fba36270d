import { fileURLToPath } from 'node:url';
import { packageVersion } from './versions.ts';

/** What it calculates with beside itself. */
const FILTER = 'ml-savitzky-golay-generalized';
const command = [process.execPath, fileURLToPath(new URL('./entry.mjs', import.meta.url))] as const;

/**
 * The embedded runner of job types `mljs.run` and `mljs.predict`, as a worker describes and starts it.
 *
 * `command` is followed by --task-file, --workspace, --output-dir and --result-file.
 */
export const mljsRunner = {
  library: 'mljs',
  command,
  predicts: true,
  check: [...command, '--version'],
  packages: {
    mljs: packageVersion(import.meta.url),
    [FILTER]: packageVersion(import.meta.resolve(FILTER), FILTER),
  },
} as const satisfies {
  library: string;
  command: readonly string[];
  predicts: boolean;
  check: readonly string[];
  packages: Record<string, string>;
};
