import { PACKAGE } from './sample-job.ts';

/** A request that may cost the server much. */
export interface HeavyRequest {
  method: 'GET' | 'POST';
  path: string;
  type?: string;
  body?: string;
}

/** What a case may ask of the server before it is measured, each answer as a value. */
export interface Preparation {
  post<Answer>(path: string, body?: unknown): Promise<Answer>;
  /** Registers a worker and gives its id. */
  worker(declared?: object): Promise<string>;
  /** Leases up to so many tasks. */
  lease(worker: string, max: number): Promise<{ task_id: string; attempt: number }[]>;
}

interface Case {
  what: string;
  /** @param n how large it is, from 0 to 1, 1 being the size that a report is about */
  make(n: number, ask: Preparation): Promise<HeavyRequest> | HeavyRequest;
}

const count = (n: number, most: number) => Math.max(10, Math.round(most * n));
const list = (length: number, entry: (i: number) => string) =>
  Array.from({ length }, (_, i) => entry(i)).join(',');

const TYPE = `"type":"${PACKAGE}.run"`;
const PIPELINE = '"pipeline":{"kind":"path","path":"/p.yaml"}';
const DATASET = '"dataset":{"kind":"shared_path","path":"/d"}';
const job = (members: string): string => `{${TYPE},${PIPELINE},${DATASET},${members}}`;
const submission = (body: string): HeavyRequest => ({ method: 'POST', path: '/v1/jobs', body });
const yaml = (body: string): HeavyRequest => ({ ...submission(body), type: 'application/yaml' });
const report = (path: string, body: string): HeavyRequest => ({ method: 'POST', path, body });

/** A job of so many tasks. */
const wide = (tasks: number, members = '"name":"wide"'): string =>
  `{${TYPE},"pipelines":[${list(tasks, (i) => `{"kind":"path","path":"/data/pipelines/model-${i}.yaml"}`)}],${DATASET},${members}}`;

async function held(
  ask: Preparation,
  tasks: number,
): Promise<{ worker: string; query: string; ids: string[] }> {
  const worker = await ask.worker({ slots_total: tasks });
  await ask.post('/v1/jobs', wide(tasks));
  const leased = await ask.lease(worker, tasks);
  const started = leased.map(({ task_id, attempt }) => ({
    type: 'start',
    task_id,
    worker_id: worker,
    attempt,
  }));
  await ask.post('/v1/tasks/reports', { reports: started });
  return { worker, query: `?worker_id=${worker}`, ids: leased.map(({ task_id }) => task_id) };
}

/** Fails every task of a job, and so the job; gives its id. */
async function failed(ask: Preparation, tasks: number): Promise<string> {
  // Before all that other cases have left in the queue.
  const members = '"priority":9,"retry":{"max_attempts":1}';
  const { id } = await ask.post<{ id: string }>('/v1/jobs', wide(tasks, members));
  const worker = await ask.worker({ slots_total: 1000 });
  for (let done = 0; done < tasks; ) {
    const leased = await ask.lease(worker, Math.min(1000, tasks - done));
    const reports = leased.map(({ task_id, attempt }) => ({
      ...{ type: 'fail', task_id, worker_id: worker, attempt },
      failure: { error: 'it broke', retriable: false },
    }));
    await ask.post('/v1/tasks/reports', { reports });
    done += leased.length;
  }
  return id;
}

/**
 * The hostile bodies and the merely large ones, in the order of the report. What a case leases has a priority of its
 * own, since what other cases left in the queue stands before it.
 */
export const CASES = {
  ones: {
    what: 'YAML, 1.9 MiB of [1,1,…]',
    make: (n) => yaml(`params: {a: [${'1,'.repeat(count(n, 950_000))}1]}\n`),
  },
  lines: {
    what: 'YAML, 120,000 lines',
    make: (n) =>
      yaml(`params:\n${Array.from({ length: count(n, 120_000) }, (_, i) => `  k${i}: 1\n`).join('')}`),
  },
  malformed: {
    what: 'YAML, 0.5 MiB malformed',
    make: (n) => yaml('- a: b: c\n'.repeat(count(n, 50_000))),
  },
  repeated: {
    what: 'YAML, 120,000 times the same key',
    make: (n) => yaml('a: 1\n'.repeat(count(n, 120_000))),
  },
  labels: {
    what: 'JSON, 500,000 labels',
    make: (n) =>
      submission(job(`"requirements":{"labels":{${list(count(n, 500_000), (i) => `"label-${i}":"v"`)}}}`)),
  },
  unknown: {
    what: 'JSON, 900,000 unknown fields',
    make: (n) => submission(job(list(count(n, 900_000), (i) => `"field${i}":1`))),
  },
  faults: {
    what: 'JSON, 400,000 faulty pipelines',
    make: (n) =>
      submission(
        `{${TYPE},"pipelines":[${list(count(n, 400_000), (i) => `{"kind":"p","x":${i}}`)}],${DATASET}}`,
      ),
  },
  inline: {
    what: 'JSON, 15 MiB of parameters',
    make: (n) => submission(job(`"params":{"list":[${list(count(n, 1_000_000), (i) => `{"v":${i}.5}`)}]}`)),
  },
  submit: { what: 'a job of 100,000 tasks', make: (n) => submission(wide(count(n, 100_000))) },
  cancelQueued: {
    what: 'cancel of 100,000 queued tasks',
    make: async (n, ask) => {
      const { id } = await ask.post<{ id: string }>('/v1/jobs', wide(count(n, 100_000)));
      return report(`/v1/jobs/${id}/cancel`, '');
    },
  },
  cancelRunning: {
    what: 'cancel of 100,000 tasks, 500 of them running',
    make: async (n, ask) => {
      const worker = await ask.worker({ slots_total: 500 });
      const { id } = await ask.post<{ id: string }>('/v1/jobs', wide(count(n, 100_000), '"priority":9'));
      await ask.lease(worker, Math.min(500, count(n, 100_000)));
      return report(`/v1/jobs/${id}/cancel`, '');
    },
  },
  retry: {
    what: 'retry of 100,000 failed tasks',
    make: async (n, ask) => report(`/v1/jobs/${await failed(ask, count(n, 100_000))}/retry`, ''),
  },
  tasks: {
    what: 'GET of the tasks of a job of 100,000',
    make: async (n, ask) => {
      const { id } = await ask.post<{ id: string }>('/v1/jobs', wide(count(n, 100_000)));
      return { method: 'GET', path: `/v1/jobs/${id}/tasks` };
    },
  },
  active: {
    what: 'a heartbeat with 100,000 active tasks',
    make: async (n, ask) => {
      const entries = list(
        count(n, 100_000),
        (i) => `{"task_id":"task_${String(i).padStart(26, '0')}","attempt":1}`,
      );
      return report(`/v1/workers/${await ask.worker()}/heartbeat`, `{"active":[${entries}]}`);
    },
  },
  register: {
    what: 'a registration of 15 MiB',
    make: (n) => {
      const packages = list(count(n, 400_000), (i) => `"package-number-${i}":"1.${i}"`);
      return report('/v1/workers/register', `{"version":{"packages":{${packages}}}}`);
    },
  },
  complete: {
    what: 'a result with 15 MiB of metrics',
    make: async (n, ask) => {
      const { query, ids } = await held(ask, 1);
      const metrics = list(count(n, 700_000), (i) => `"metric-${i}":0.5`);
      return report(`/v1/tasks/${ids[0]}/complete${query}`, `{"status":"succeeded","metrics":{${metrics}}}`);
    },
  },
  extra: {
    what: 'a result with 15 MiB of extra',
    make: async (n, ask) => {
      const { query, ids } = await held(ask, 1);
      const extra = list(count(n, 1_000_000), (i) => `{"v":${i}}`);
      return report(
        `/v1/tasks/${ids[0]}/complete${query}`,
        `{"status":"succeeded","extra":{"list":[${extra}]}}`,
      );
    },
  },
  reports: {
    what: '1,000 results of 15 KiB in one request',
    make: async (n, ask) => {
      const { worker, ids } = await held(ask, count(n, 1000));
      const extra = `{"list":[${list(1200, (i) => `{"v":${i}.5}`)}]}`;
      const reports = ids.map(
        (task_id) =>
          `{"type":"complete","task_id":"${task_id}","worker_id":"${worker}","result":{"status":"succeeded","extra":${extra}}}`,
      );
      return report('/v1/tasks/reports', `{"reports":[${reports.join(',')}]}`);
    },
  },
  events: {
    what: '1,000 events of 15 KiB in one request',
    make: async (n, ask) => {
      const { query, ids } = await held(ask, 1);
      const data = `{"list":[${list(1200, (i) => `{"v":${i}.5}`)}]}`;
      const events = list(count(n, 1000), (i) => `{"type":"log","message":"${i}","data":${data}}`);
      return report(`/v1/tasks/${ids[0]}/events${query}`, `{"events":[${events}]}`);
    },
  },
  history: { what: 'GET of 5,000 events', make: () => ({ method: 'GET', path: '/v1/events?limit=5000' }) },
  beginning: {
    what: 'GET of the first 5,000 events',
    make: () => ({ method: 'GET', path: '/v1/events?after_id=0&limit=5000' }),
  },
  lastTasks: {
    what: 'GET of the last failed task of a job of 100,000',
    make: async (n, ask) => {
      const { id } = await ask.post<{ id: string }>('/v1/jobs', wide(count(n, 100_000)));
      return { method: 'GET', path: `/v1/jobs/${id}/tasks?status=failed&limit=1` };
    },
  },
  search: {
    what: 'GET of jobs by a name that 20,000 have, and a state that none is in',
    make: async (n, ask) => {
      const jobs = count(n, 20_000);
      for (let sent = 0; sent < jobs; sent += 100) {
        const batch = Array.from({ length: Math.min(100, jobs - sent) }, (_, i) =>
          ask.post('/v1/jobs', wide(1, `"name":"wheat ${sent + i}"`)),
        );
        await Promise.all(batch);
      }
      return { method: 'GET', path: '/v1/jobs?name=heat&status=failed' };
    },
  },
  largeLease: {
    what: 'a lease of one task of 15 MiB',
    make: async (n, ask) => {
      const worker = await ask.worker();
      await ask.post(
        '/v1/jobs',
        job(`"priority":11,"params":{"text":"${'x'.repeat(count(n, 15_500_000))}"}`),
      );
      return report(`/v1/workers/${worker}/lease`, '{}');
    },
  },
  numbersLease: {
    what: 'a lease of one task of a million numbers, 15 MiB',
    make: async (n, ask) => {
      const worker = await ask.worker();
      const numbers = list(count(n, 1_000_000), (i) => `{"v":${i}.5}`);
      await ask.post('/v1/jobs', job(`"priority":12,"params":{"list":[${numbers}]}`));
      return report(`/v1/workers/${worker}/lease`, '{}');
    },
  },
  manyLargeLeases: {
    what: 'a lease of 10 tasks of 5 MiB, each of a job of its own',
    make: async (n, ask) => {
      const worker = await ask.worker({ slots_total: 1000 });
      for (let i = 0; i < 10; i++)
        await ask.post(
          '/v1/jobs',
          job(`"priority":13,"params":{"text":"${'x'.repeat(count(n, 5_000_000))}"}`),
        );
      return report(`/v1/workers/${worker}/lease`, '{"max_tasks":1000}');
    },
  },
  thousand: {
    what: 'a lease of 1,000 tasks',
    make: async (n, ask) => {
      const worker = await ask.worker({ slots_total: 1000 });
      await ask.post('/v1/jobs', wide(count(n, 1000), '"priority":14'));
      return report(`/v1/workers/${worker}/lease`, '{"max_tasks":1000}');
    },
  },
  giveUp: {
    what: 'a path that nobody has, for a job of 20,000 tasks',
    make: async (n, ask) => {
      const worker = await ask.worker();
      const pipelines = list(count(n, 20_000), (i) => `{"kind":"inline_json","inline":${i}}`);
      await ask.post('/v1/jobs', `{${TYPE},"priority":15,"pipelines":[${pipelines}],${DATASET}}`);
      const [leased] = await ask.lease(worker, 1);
      if (!leased) throw new Error('there was no task to lease');
      await ask.post(`/v1/tasks/${leased.task_id}/start?worker_id=${worker}`);
      const failure = '{"error":"no /d here","fault":"worker","missing_path":"/d"}';
      return report(`/v1/tasks/${leased.task_id}/fail?worker_id=${worker}`, failure);
    },
  },
  cancelHeld: {
    what: 'cancel of a job of which one worker runs 10,000 tasks',
    make: async (n, ask) => {
      const worker = await ask.worker({ slots_total: 100_000 });
      const { id } = await ask.post<{ id: string }>('/v1/jobs', wide(count(n, 10_000), '"priority":16'));
      await ask.lease(worker, count(n, 10_000));
      return report(`/v1/jobs/${id}/cancel`, '');
    },
  },
  heldHeartbeat: {
    what: 'a heartbeat of a worker that runs 10,000 tasks',
    make: async (n, ask) => {
      const worker = await ask.worker({ slots_total: 100_000 });
      await ask.post('/v1/jobs', wide(count(n, 10_000), '"priority":17'));
      await ask.lease(worker, count(n, 10_000));
      return report(`/v1/workers/${worker}/heartbeat`, '{}');
    },
  },
  workers: {
    what: 'GET of 20,000 workers',
    make: async (n, ask) => {
      const workers = count(n, 20_000);
      for (let made = 0; made < workers; made += 100)
        await Promise.all(Array.from({ length: Math.min(100, workers - made) }, () => ask.worker()));
      return { method: 'GET', path: '/v1/workers' };
    },
  },
} satisfies Record<string, Case>;

export type CaseName = keyof typeof CASES;
export const CASE_NAMES = Object.keys(CASES) as CaseName[];
