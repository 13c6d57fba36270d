import { it } from 'node:test';
import { requires } from '../support/requires.ts';

/** Registers specifications of these files with a runner that is kept warm, where there is what that takes. */
export async function warmly(...files: string[]): Promise<void> {
  const needs = requires('python3', 'proc');
  if (needs.skip !== false) return void it('a runner that is kept warm', needs, () => {});
  process.env.JQ_SPEC_RUNNER = 'warm';
  for (const file of files) await import(file);
}
