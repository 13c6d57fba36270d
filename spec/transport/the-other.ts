import { readdir } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { chooseTransport } from '../../gateway/transport/choose.ts';

/**
 * Registers the specifications of a room once more, on the transport that `auto` does not take here. Where only one
 * works, as uWebSockets.js does not on every version of Node.js, they have all run on that one already.
 */
export async function runOnTheOther(room: string, files = /./): Promise<void> {
  const { transport } = await chooseTransport('auto');
  if (transport.name === 'node') return;
  process.env.JQ_TEST_TRANSPORT = 'node';
  const folder = new URL(`../${room}/`, import.meta.url);
  const names = await readdir(fileURLToPath(folder));
  for (const name of names.sort()) {
    if (name.endsWith('.spec.ts') && files.test(name)) await import(new URL(name, folder).href);
  }
}
