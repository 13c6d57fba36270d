import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { Workload } from '../workload.ts';

const execute = promisify(execFile);
const JQCTL = fileURLToPath(new URL('../../bin/jqctl', import.meta.url));

export const startUp: Workload = {
  name: 'start-up',
  about:
    'From the start of the process until `jqctl` has ended, and until `jq-server` listens on an empty state; beside it Node.js that does nothing.',
  async run(bench) {
    const server = await bench.server();
    const help = await timed(process.execPath, [JQCTL, 'submit', '--help']);
    const stats = await timed(process.execPath, [JQCTL, 'stats', '--json', '--server', server.url]);
    const bare = await timed(process.execPath, ['-e', '0']);
    return [
      {
        id: 'start-up.server',
        what: 'jq-server listens',
        unit: 's',
        value: server.startSeconds,
        server: server.usage(),
      },
      { id: 'start-up.help', what: 'jqctl submit --help', unit: 's', value: help },
      { id: 'start-up.stats', what: 'jqctl stats', unit: 's', value: stats },
      { id: 'start-up.node', what: 'node -e 0', unit: 's', value: bare },
    ];
  },
};

async function timed(program: string, argv: string[]): Promise<number> {
  const began = performance.now();
  await execute(program, argv);
  return (performance.now() - began) / 1000;
}
