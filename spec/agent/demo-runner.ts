import { fileURLToPath } from 'node:url';
import type { Runner } from '../../actors/agent/config.ts';

/** The runner of `demo.run`: a program that does what `params.do` says. */
export const demoRunner: Runner = {
  library: 'demo',
  command: [process.execPath, fileURLToPath(new URL('./fixtures/analysis.mjs', import.meta.url))],
  packages: { demo: '1.0' },
};
