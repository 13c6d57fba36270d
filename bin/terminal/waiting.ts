import type { TaskView } from '../../machines/schema/views.ts';
import { counted } from './format.ts';
import { plain } from './plain.ts';

type Queued = Pick<TaskView, 'status' | 'waiting_for'>;

/** What a task asks for, in words: of no worker, and of so many who lack it. */
interface Words {
  none: string;
  some(lacking: string): string;
}

const has = (what: string, how = ''): Words => ({
  none: `no worker has ${what}${how}`,
  some: (lacking) => `${lacking} without ${what}`,
});

/**
 * Why queued tasks are not running, a line for all that wait for the same; none where nothing is known to keep
 * them, as right before they are leased.
 * @param workersAlive live workers of the whole cluster
 * @param isPart whether there may be more tasks that wait than those
 */
export function waitingLines(tasks: readonly Queued[], workersAlive: number, isPart = false): string[] {
  const waits = (count: number) =>
    `${isPart ? 'at least ' : ''}${counted(count, 'queued task')} ${count === 1 ? 'waits' : 'wait'}`;
  const queued = tasks.filter((task) => task.status === 'queued');
  if (queued.length === 0) return [];
  if (workersAlive === 0) {
    return [`${waits(queued.length)}: no worker is alive; start one with: jq-worker`];
  }
  const reasons = new Map<string, number>();
  for (const task of queued) {
    const reason = reasonOf(task.waiting_for, workersAlive);
    if (reason !== '') reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  return [...reasons].map(([reason, count]) => `${waits(count)}: ${reason}`);
}

function reasonOf(waiting: TaskView['waiting_for'], workersAlive: number): string {
  if (waiting.length === 0) return '';
  const backoff = waiting.find(({ requirement }) => requirement === 'backoff');
  if (backoff) return 'it failed, and is tried again later (retry.backoff_seconds)';
  const busy = waiting.some(({ requirement }) => requirement === 'slots');
  const lacks = waiting.filter(({ requirement }) => requirement !== 'slots');
  const none = lacks.filter(({ workers_missing: n }) => n >= workersAlive);
  // What nobody has keeps the task, whatever else some lack.
  if (none.length > 0) return none.map(({ requirement }) => wordsFor(requirement).none).join('; ');
  const some = lacks
    .map(({ requirement, workers_missing: n }) =>
      wordsFor(requirement).some(`${n} of ${counted(workersAlive, 'worker')}`),
    )
    .join('; ');
  if (busy) return `every worker that fits is busy${some === '' ? '' : ` (${some})`}`;
  const isAbout = ({ requirement }: { requirement: string }) =>
    /^(worker_fault|ends_too_early|suspended|draining|drained|paused|owner_limit|path=)/s.test(requirement);
  if (lacks.some(isAbout)) return `no worker can take it now (${some})`;
  return `no worker has all that is asked for (${some})`;
}

/** A requirement as `unmet` of machines/matching/matching.ts writes it, or what else keeps a worker from a task. */
function wordsFor(requirement: string): Words {
  if (requirement === 'worker_fault') {
    return {
      none: 'every worker reported a fault of its own for it',
      some: (lacking) => `${lacking} avoided after a fault of its own`,
    };
  }
  if (requirement === 'ends_too_early') {
    return {
      none: 'every worker ends before it would be done (start one with more time)',
      some: (lacking) => `${lacking} with too little time left`,
    };
  }
  if (requirement === 'suspended') {
    return {
      none: 'every worker is suspended (jqctl workers says why)',
      some: (lacking) => `${lacking} suspended`,
    };
  }
  if (requirement === 'draining') {
    return {
      none: 'every worker was told to end (start another one with: jq-worker)',
      some: (lacking) => `${lacking} told to end`,
    };
  }
  const paused = /^paused(?:\.(type|owner)=(.*))?$/s.exec(requirement);
  if (paused) {
    const [, kind, name = ''] = paused;
    const what = kind === undefined ? 'the queue' : `${kind} ${plain(name)}`;
    return { none: `${what} is paused (jqctl queue)`, some: () => `${what} is paused (jqctl queue)` };
  }
  if (requirement === 'owner_limit') {
    const words = 'its owner has as many tasks under way as allowed (--max-running-per-owner)';
    return { none: words, some: () => words };
  }
  if (requirement === 'drained') {
    return {
      none: 'every worker is drained (jqctl workers resume WORKER)',
      some: (lacking) => `${lacking} drained`,
    };
  }
  const path = /^path=(.*)$/s.exec(requirement)?.[1];
  if (path !== undefined) return has(`the path ${plain(path)}`);
  const dataset = /^labels\.dataset\.(.*)=true$/.exec(requirement)?.[1];
  if (dataset !== undefined) {
    const name = plain(dataset);
    return has(`the dataset ${name}`, ` (start one with --dataset ${name}=PATH)`);
  }
  if (requirement === 'capabilities.python_entrypoint') {
    return {
      none: 'no worker runs python_entrypoint pipelines (start one with --allow-python)',
      some: (lacking) => `${lacking} without --allow-python`,
    };
  }
  if (requirement === 'capabilities.catalog') {
    return has('a catalog of datasets', ' (start one with --catalog FILE|URL)');
  }
  const [, kind, what = ''] = /^(labels|packages|capabilities)\.(.*)$/s.exec(requirement) ?? [];
  if (kind === 'labels') return has(`the label ${plain(what)}`);
  if (what === 'nirs4all') return has('nirs4all', ' (start one with --python INTERPRETER)');
  if (kind !== undefined) return has(plain(what));
  const [, resource, amount = ''] = /^(min_memory_gb|min_gpu_count)=(.*)$/.exec(requirement) ?? [];
  if (resource === 'min_memory_gb') return has(`${plain(amount)} GiB of memory`);
  if (resource === 'min_gpu_count') return has(counted(Number(amount), 'GPU'));
  return has(plain(requirement));
}
