import { StartError } from '../../machines/protocol/start-error.ts';
import type { Transport, TransportName } from './transport.ts';

export const TRANSPORT_CHOICES = ['auto', 'uws', 'node'] as const;

/** `auto` takes uWebSockets.js wherever it loads, except for TLS. */
export type TransportChoice = (typeof TRANSPORT_CHOICES)[number];

/** Loaded only when they are chosen: each needs a package that may not be there. */
const LOADERS: Record<TransportName, () => Promise<Transport>> = {
  uws: async () => (await import('./uws/transport.ts')).uwsTransport(),
  node: async () => (await import('./node/transport.ts')).nodeTransport(),
};

/** Why the first one that is tried is taken. */
const BECAUSE: Record<TransportName, string> = {
  uws: 'uWebSockets.js loads here',
  node: 'it takes a new certificate without losing a connection',
};

/** A transport, and why it is this one. */
export interface Chosen {
  readonly transport: Transport;
  readonly why: string;
}

/**
 * The transport that is wished for, or for `auto` the first that works here. For TLS that is node:https: it takes a new
 * certificate in place, where uWebSockets.js needs another listening socket, and who connects just then may be lost.
 * @throws StartError `no_transport` that says what to install
 */
export async function chooseTransport(choice: TransportChoice, secure = false): Promise<Chosen> {
  const faults: string[] = [];
  const order = secure ? (['node', 'uws'] as const) : (['uws', 'node'] as const);
  for (const name of choice === 'auto' ? order : [choice]) {
    try {
      const transport = await LOADERS[name]();
      const why = choice !== 'auto' ? 'as --transport says' : (faults[0] ?? BECAUSE[name]);
      return { transport, why };
    } catch (error) {
      faults.push(whyNot(name, error));
    }
  }
  const advice =
    choice === 'uws'
      ? 'start with --transport auto or node, or install a version of it that supports this machine'
      : 'install the packages of this program: run npm ci in its directory';
  throw new StartError('no_transport', `no transport works here: ${faults.join('; ')}; ${advice}`);
}

/** One line: within a library's message, the system's own word. */
function whyNot(name: TransportName, error: unknown): string {
  const library = name === 'uws' ? 'uWebSockets.js' : 'ws';
  const { code, message = String(error) } = error as NodeJS.ErrnoException;
  if (code === 'ERR_MODULE_NOT_FOUND') return `${library} is not installed`;
  const lines = message.split('\n');
  const reason = lines.find((line) => line.startsWith('Error: '))?.slice('Error: '.length) ?? lines[0];
  return `${library} does not load on Node.js ${process.versions.node} here (${reason})`;
}
