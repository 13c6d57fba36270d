import type { TestContext } from 'node:test';
import { quietPort } from '../support/program.ts';
import { startTestServer, type TestServer } from '../support/server.ts';
import { until } from '../support/until.ts';
import { begin, run } from './cli-support.ts';
import { jobOf, playWorker } from './played-worker.ts';

/** A server, the command line that is aimed at it, and who works for it. */
export async function scene(t: TestContext, options: Parameters<typeof startTestServer>[1] = {}) {
  // It may be started anew where it was.
  const server = await startTestServer(t, { port: await quietPort(), ...options });
  const env = { JQ_SERVER: server.url, ...(options.token === undefined ? {} : { JQ_TOKEN: options.token }) };
  return {
    server,
    env,
    ctl: (...argv: string[]) => run(argv, { env }),
    /** Shows what a command says while it runs. */
    begins: (...argv: string[]) => begin(argv, { env }),
    /** Submits a job of these pipelines; its id. */
    submit: async (...pipelines: string[]) =>
      (await run(['submit', '-'], { env, stdin: jobOf(...pipelines) })).stdout.trim(),
    play: (slots?: number, differs?: Parameters<typeof playWorker>[2]) =>
      playWorker(server.client, slots, differs),
  };
}

/** Stops a server, waits until a client has told the loss, and starts it anew where it was. */
export async function restarted(t: TestContext, first: TestServer, said: { readonly stderr: string }) {
  await first.stop();
  await until('the loss to be told', () => /trying again/.test(said.stderr));
  return startTestServer(t, { state: first.stateDir, port: first.port });
}
