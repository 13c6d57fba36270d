import { once } from 'node:events';
import { request } from 'node:http';
import type { Control } from './loads.ts';
import { PACKAGE } from './sample-job.ts';
import { CASES, type CaseName, type HeavyRequest, type Preparation } from './stall-cases.ts';

/** Sends one heavy request, made before the word to begin; its status, and the seconds until its answer was read. */
export async function stall(
  { url, name, size }: { url: string; name: CaseName; size: number },
  control: Control,
): Promise<{ status: number; seconds: number; answer: string }> {
  const heavy = await CASES[name].make(size, preparation(url));
  await control.ready();
  const began = performance.now();
  const { status, answer } = await send(url, heavy);
  return { status, answer, seconds: (performance.now() - began) / 1000 };
}

function preparation(url: string): Preparation {
  const post = async <Answer>(path: string, body: unknown = {}): Promise<Answer> => {
    const text = typeof body === 'string' ? body : JSON.stringify(body);
    const { status, answer } = await send(
      url,
      { method: 'POST', path, body: text },
      Number.POSITIVE_INFINITY,
    );
    if (status !== 200) throw new Error(`POST ${path}: ${status} ${answer}`);
    return JSON.parse(answer) as Answer;
  };
  return {
    post,
    worker: async (declared = {}) => {
      const registration = { version: { packages: { [PACKAGE]: '1.0' } }, ...declared };
      return (await post<{ worker_id: string }>('/v1/workers/register', registration)).worker_id;
    },
    lease: async (worker, max) => {
      const tasks: { task_id: string; attempt: number }[] = [];
      while (tasks.length < max) {
        const max_tasks = Math.min(1000, max - tasks.length);
        const leased = await post<{ tasks: typeof tasks }>(`/v1/workers/${worker}/lease`, { max_tasks });
        if (leased.tasks.length === 0) throw new Error('no task is left');
        tasks.push(...leased.tasks);
      }
      return tasks;
    },
  };
}

/** @param most characters of the answer that are kept; the rest is read and let go */
async function send(
  url: string,
  { method, path, type = 'application/json', body }: HeavyRequest,
  most = 300,
): Promise<{ status: number; answer: string }> {
  const sent = request(new URL(path, url), {
    method,
    headers: body === undefined ? {} : { 'content-type': type, 'content-length': Buffer.byteLength(body) },
  });
  sent.end(body);
  const [response] = await once(sent, 'response');
  let answer = '';
  for await (const chunk of response) if (answer.length < most) answer += chunk;
  return { status: response.statusCode as number, answer: answer.slice(0, most) };
}
