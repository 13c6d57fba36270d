import type { Backend } from '../../gateway/backend.ts';
import { type History, must } from '../history/history.ts';
import type { Rows } from '../history/rows.ts';
import { seen } from '../support/views.ts';
import type { Acknowledged } from './network.ts';

/** Every answer that a client got and relies on, to be found in the store. */
export class Ledger {
  readonly #answers: Acknowledged[] = [];
  #checked = 0;

  note(answer: Acknowledged): void {
    if (answer.method === 'POST') this.#answers.push(answer);
  }

  get size(): number {
    return this.#answers.length;
  }

  /** What was acknowledged since the last look must be among the committed events. */
  compareEvents(history: History): void {
    for (; this.#checked < this.#answers.length; this.#checked++) {
      compare(this.#answers[this.#checked] as Acknowledged, history);
    }
  }

  /** At the end: everything once more, with the recorded results. @returns how many were looked at */
  async compareStore(history: History, rows: Rows, backend: Backend): Promise<number> {
    const names = new Map<string, string>();
    for (const { id, name } of await seen(backend).jobs({ limit: 1_000_000 })) {
      must(name === null || !names.has(name), `job ${name} was doubled`);
      if (name !== null) names.set(name, id);
    }
    for (const answer of this.#answers) {
      compare(answer, history);
      if (answer.path === '/v1/jobs') {
        const { name } = JSON.parse(answer.body) as { name: string };
        must(names.get(name) === answer.reply.id, `job ${name} is not in the store as it was acknowledged`);
      }
      if (/\/complete\?/.test(answer.path)) compareResult(answer, history, rows);
    }
    return this.#answers.length;
  }
}

function compare({ path, reply, peer }: Acknowledged, history: History): void {
  const [, collection, id = '', verb] = /^\/v1\/(\w+)(?:\/([^/?]+))?(?:\/(\w+))?/.exec(path) ?? [];
  const query = new URLSearchParams(path.split('?')[1]);
  const lease = `${id} ${query.get('attempt')}`;
  const there = (holds: boolean) => must(holds, `${peer}: ${path} was acknowledged, and is not in the store`);
  if (collection === 'jobs' && verb === undefined) there(history.jobs.has(String(reply.id)));
  if (verb === 'cancel') there(history.jobs.get(id)?.cancelRequested ?? false);
  if (verb === 'retry') there(history.jobs.get(id)?.retried ?? false);
  if (id === 'register') there(history.workers.has(String(reply.worker_id)));
  if (verb === 'start') there(history.started.has(lease));
  if (verb === 'complete' || verb === 'fail') there(history.ended.has(lease));
  if (verb === 'lease') {
    const tasks = (reply.tasks ?? []) as { task_id: string; attempt: number }[];
    for (const { task_id, attempt } of tasks) there(history.leased.has(`${task_id} ${attempt} ${id}`));
  }
}

/** A success that was acknowledged is the recorded one, unless its job was being cancelled. */
function compareResult({ path, body, peer }: Acknowledged, history: History, rows: Rows): void {
  const id = /tasks\/([^/?]+)/.exec(path)?.[1] ?? '';
  const { mark } = (JSON.parse(body) as { extra: { mark: string } }).extra;
  const task = history.tasks.get(id);
  const recorded = rows.resultOf(id);
  if (task?.status === 'cancelled') {
    must(recorded === undefined, `${id} is cancelled and has a result`);
    return;
  }
  must(
    recorded?.includes(JSON.stringify(mark)) ?? false,
    `${peer}: the result ${mark} of ${id} is not recorded`,
  );
}
