import { fileURLToPath } from 'node:url';
import { Program, ROOT } from '../support/program.ts';

export const TICK = fileURLToPath(new URL('./tick.sh', import.meta.url));

/** Starts `bin/jq-worker` with two slots and a runner for `tick.run`; whatever the server does, it goes on. */
export function startWorkerProgram(server: string, state: string, tick = TICK): Program {
  const flags = ['--server', server, '--state', state, '--slots', '2', '--gpus', '0', '--log-level', 'error'];
  return new Program(process.execPath, [
    `${ROOT}bin/jq-worker`,
    ...flags,
    '--runner',
    `tick=${tick}`,
    '--json',
  ]);
}
