// Faulty links in a process of their own, so that what they carry does not wait for what else a proof is at.
import { FaultyLink } from './faulty-link.ts';
import type { LinkAnswer, LinkRequest } from './links.ts';

const links = new Map<number, FaultyLink>();

async function answer({ upstream, port, state }: LinkRequest): Promise<number> {
  const link = port === undefined ? await FaultyLink.to(upstream as number) : (links.get(port) as FaultyLink);
  links.set(link.port, link);
  if (state !== undefined) link.state = state;
  return link.port;
}

process.on('message', async (request: LinkRequest) => {
  const port = await answer(request);
  process.send?.({ number: request.number, port } satisfies LinkAnswer);
});
process.once('disconnect', () => process.exit());
