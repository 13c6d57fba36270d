import { measure } from 'mitata';
import { QueueIndex } from '../../actors/server/scheduling/queue-index.ts';
import { QueueView } from '../../actors/server/scheduling/queue-view.ts';
import { FOR_GOOD } from '../../actors/server/turn/journal.ts';
import { Published } from '../../gateway/streams/hub.ts';
import { canonicalJson } from '../../machines/json/canonical.ts';
import { compose, RawJson } from '../../machines/json/raw.ts';
import { signatureOf, unmet } from '../../machines/matching/matching.ts';
import { JobSpec } from '../../machines/schema/job.ts';
import { TaskResult } from '../../machines/schema/report.ts';
import { validator } from '../../machines/schema/validate.ts';
import { matrixOf, numTasks, planAt } from '../../machines/submission/decompose.ts';
import { taskMachine } from '../../machines/task/task.ts';
import { Driven } from '../../spec/machines/drive.ts';
import { TASK_EVENTS, taskContext } from '../../spec/machines/samples.ts';
import type { Bench } from '../bench.ts';
import { matrixJob, oneTaskJob, RESULT } from '../load/sample-job.ts';
import type { Reading, Workload } from '../workload.ts';

const checkJob = validator(JobSpec);
const checkResult = validator(TaskResult);
const JOB = oneTaskJob('measured');
const REPORTED = JSON.stringify(RESULT);
const REQUIREMENTS = { labels: { site: 'lab-a' }, min_memory_gb: 8, packages: { demo: '>=1,<3' } };
const PROFILE = {
  labels: { site: 'lab-a', disk: 'ssd' },
  capabilities: { memory_gb: 64 },
  version: { packages: { demo: '2.1.0' } },
};
const EVENT = {
  id: 1,
  job_id: 'job_01k9f0c3v2xg7q5a9b8d6e4f2h',
  task_id: 'task_01k9f0c3v2xg7q5a9b8d6e4f2h',
  worker_id: 'worker_01k9f0c3v2xg7q5a9b8d6e4f2h',
  ts: 1_700_000_000.123,
  level: 'info' as const,
  type: 'progress',
  message: 'fold 3 of 5',
  data: { progress: 0.6 },
};

/** A job text that passes, or a fault of the bench. */
function checked(text: string): JobSpec {
  const outcome = checkJob(JSON.parse(text));
  if (!outcome.ok) throw new Error(`the sample job is not valid: ${JSON.stringify(outcome.faults)}`);
  return outcome.value;
}

function tasksOf(spec: JobSpec): unknown {
  const matrix = matrixOf(spec);
  return Array.from({ length: numTasks(matrix) }, (_, place) => planAt(matrix, place));
}

function taskLife(): unknown {
  const task = new Driven(taskMachine, 'queued', taskContext());
  task.send(TASK_EVENTS.LEASE);
  task.send(TASK_EVENTS.START);
  task.send(TASK_EVENTS.COMPLETE);
  if (task.state !== 'succeeded') throw new Error(`the task is ${task.state}`);
  return task;
}

/** Takes from a queue and puts back behind it, at a steady depth. */
function queueOf(tasks: number, requirements: number): () => unknown {
  const queue = new QueueIndex(() => ({ terms: [] }));
  const views = [new QueueView([''], () => true)];
  for (let seq = 0; seq < tasks; seq++) queue.add(FOR_GOOD, seq % requirements, 0, seq);
  let seq = tasks;
  return () => {
    const taken = queue.take(FOR_GOOD, views);
    if (!taken) throw new Error('the queue is empty');
    queue.add(FOR_GOOD, taken.key, 0, seq++);
    return taken;
  };
}

function subjects(bench: Bench): Record<string, [what: string, act: () => unknown]> {
  const matrix = checked(matrixJob(100, 100));
  const lease = {
    task_id: 'task_1',
    params: new RawJson('{"a":1.0}'),
    pipeline: new RawJson(JOB),
    attempt: 1,
  };
  const deep = bench.pick(1_000_000, 100_000, 1000);
  return {
    job: ['one-task job: parsed and validated', () => checked(JOB)],
    result: ['task result: parsed and validated', () => checkResult(JSON.parse(REPORTED))],
    decompose: ['100 × 100 matrix: decomposed', () => tasksOf(matrix)],
    task: ['task actor: created, leased, started, completed', taskLife],
    canonical: ['one-task job: canonical JSON', () => canonicalJson(JOB)],
    compose: ['lease payload: composed with raw pieces', () => compose(lease)],
    event: ['event: its text for the streams', () => new Published(EVENT).text],
    unmet: ['requirements against a worker', () => unmet(REQUIREMENTS, PROFILE)],
    signature: ['signature of requirements', () => signatureOf(REQUIREMENTS)],
    'queue.small': ['queue index: take and add at 1,000 tasks', queueOf(1000, 1)],
    'queue.large': [`queue index: take and add at ${deep} tasks`, queueOf(deep, 1)],
    'queue.many': [`queue index: the same with 100 requirements`, queueOf(deep, 100)],
  };
}

export const functions: Workload = {
  name: 'functions',
  about: 'Single functions in a warm process, by mitata; medians.',
  maxRuns: 1,
  async run(bench) {
    const readings: Reading[] = [];
    for (const [id, [what, act]] of Object.entries(subjects(bench))) {
      const options = { min_cpu_time: bench.pick(5e8, 5e7, 1e6), min_samples: bench.pick(100, 20, 5) };
      const { p50 } = await measure(act, options);
      readings.push({ id: `functions.${id}`, what, unit: 'µs', value: p50 / 1000 });
    }
    return readings;
  },
};
