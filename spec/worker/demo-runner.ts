import { fileURLToPath } from 'node:url';
import type { Runner } from '../../actors/worker/config.ts';

const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url));
const inPython = { library: 'demo', command: ['python3', fixture('analysis.py')], packages: { demo: '1.0' } };

const RUNNERS: Record<string, Runner> = {
  node: { ...inPython, command: [process.execPath, fixture('analysis.mjs')] },
  cold: inPython,
  warm: { ...inPython, serves: true },
};

/** The runner of `demo.run`: a program that does what `params.do` says; `JQ_SPEC_RUNNER` names which. */
export const demoRunner: Runner = RUNNERS[process.env.JQ_SPEC_RUNNER ?? 'node'] ?? (RUNNERS.node as Runner);
