import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { atMost, type Workload } from '../workload.ts';

const execute = promisify(execFile);
const JQCTL = fileURLToPath(new URL('../../bin/jqctl', import.meta.url));
const DEMO = fileURLToPath(new URL('../../examples/demo.js', import.meta.url));

export const startUp: Workload = {
  name: 'start-up',
  about:
    'From the start of the process until `jqctl` has ended, and until `jq-server` listens on an empty state; beside it Node.js that does nothing. The demonstration is the whole of `npm run demo` but npm: server, worker, seven pipelines, the model, and their end.',
  async run(bench) {
    const server = await bench.server();
    const help = await timed(process.execPath, [JQCTL, 'submit', '--help']);
    const stats = await timed(process.execPath, [JQCTL, 'stats', '--json', '--server', server.url]);
    const bare = await timed(process.execPath, ['-e', '0']);
    const demo = await timed(process.execPath, [DEMO], bench.directory());
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
      { id: 'start-up.demo', what: 'the demonstration', unit: 's', value: demo, targets: [atMost(5)] },
    ];
  },
};

async function timed(program: string, argv: string[], cwd?: string): Promise<number> {
  const began = performance.now();
  await execute(program, argv, { cwd });
  return (performance.now() - began) / 1000;
}
