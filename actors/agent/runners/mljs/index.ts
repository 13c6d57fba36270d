import { fileURLToPath } from 'node:url';
import { packageVersion } from './versions.ts';

const versionOf = (name: string): string => packageVersion(import.meta.resolve(name), name);

const command = [process.execPath, fileURLToPath(new URL('./door.mjs', import.meta.url))] as const;

/**
 * The embedded runner of job type `mljs.run`, as a worker describes and starts it.
 *
 * `command` is followed by --task-file, --workspace, --output-dir and --result-file.
 */
export const mljsRunner = {
  library: 'mljs',
  command,
  check: [...command, '--version'],
  packages: {
    mljs: packageVersion(import.meta.url),
    'ml-pls': versionOf('ml-pls'),
    'ml-matrix': versionOf('ml-matrix'),
    'ml-savitzky-golay-generalized': versionOf('ml-savitzky-golay-generalized'),
  },
} as const satisfies {
  library: string;
  command: readonly string[];
  check: readonly string[];
  packages: Record<string, string>;
};
