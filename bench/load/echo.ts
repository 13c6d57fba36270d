import { Pool } from 'undici';
import { HttpPool } from './http-pool.ts';
import type { Control } from './loads.ts';
import { oneTaskJob } from './sample-job.ts';

/** How many requests a second a client makes to a server that does nothing: the generator's own limit. */
export async function echo(
  {
    url,
    requests,
    connections,
    client,
  }: {
    url: string;
    requests: number;
    connections: number;
    client: 'raw' | 'undici';
  },
  control: Control,
): Promise<{ perSecond: number }> {
  const body = oneTaskJob('echoed');
  const { post, close } =
    client === 'raw' ? await rawClient(url, connections) : undiciClient(url, connections);
  await control.ready();
  const began = performance.now();
  let left = requests;
  const loop = async () => {
    while (left-- > 0) if ((await post(body)) !== body) throw new Error('the echo differs');
  };
  await Promise.all(Array.from({ length: connections }, loop));
  const seconds = (performance.now() - began) / 1000;
  await close();
  return { perSecond: requests / seconds };
}

async function rawClient(url: string, connections: number) {
  const pool = await HttpPool.open(url, connections);
  return {
    post: (body: string) => pool.accepted('/v1/jobs', body),
    close: async () => pool.close(),
  };
}

function undiciClient(url: string, connections: number) {
  const pool = new Pool(url, { connections, pipelining: 1 });
  const headers = { 'content-type': 'application/json' };
  return {
    async post(body: string) {
      const reply = await pool.request({ path: '/v1/jobs', method: 'POST', body, headers });
      return reply.body.text();
    },
    close: () => pool.close(),
  };
}
