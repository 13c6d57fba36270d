import type { FoundVariants } from '../../../machines/report/variants.ts';
import type { JobSpec, PipelineRef } from '../../../machines/schema/job.ts';
import { contentKeys, contentsOf } from '../../../machines/submission/contents.ts';
import { matrixOf, planAt, settingsOf } from '../../../machines/submission/decompose.ts';
import { datasetsOf } from '../../../machines/submission/submission.ts';
import type { JobCell } from '../runtime/actor-cell.ts';
import { ARTIFACTS } from '../store/tables.ts';
import { inSteps } from '../turn/steps.ts';
import type { Turn } from '../turn/turn.ts';
import { beginBulkLater } from './bulk-command.ts';
import { readRequest } from './fetch-job-pieces.ts';
import { newTask, nextNumber } from './new-task.ts';

/** Tasks that are added without a break. */
const AT_ONCE = 1000;
/** It stands for any pipeline that is written in the job. */
const WRITTEN: PipelineRef = { kind: 'inline_json', inline: null };

/** Queues the variants that were found in this turn, as a part of it. */
export async function queueVariants(turn: Turn): Promise<void> {
  for (const [job, found] of turn.expanded) {
    turn.expanded.delete(job);
    // A person may have cancelled it in the same turn.
    if (job.row.state === 'expanding') await queueThem(turn, job, found);
  }
}

async function queueThem(turn: Turn, job: JobCell, found: FoundVariants): Promise<void> {
  const text = await readRequest(turn, job.id);
  const { pipelines: _, ...spec } = JSON.parse(text) as JobSpec;
  const [label = ''] = matrixOf(present(JSON.parse(text))).pipelines;
  const contentKey = await contentKeyOf(turn, { spec, text, found });
  const first = job.row.next_seq ?? turn.core.sequences.task;
  await inSteps(addVariants(turn, job, { spec: present(spec), label, found, contentKey }));
  turn.variants.push({ job_id: job.id, variants: `[${found.texts.join(',')}]` });
  turn.tellJob(job, {
    ...{ type: 'VARIANTS_ADDED', variants: found.texts.length, reuse: job.row.reuse !== null },
  });
  if (job.row.state === 'reusing') {
    beginBulkLater(turn, job, { from: first, to: (job.row.next_seq ?? turn.core.sequences.task) - 1 });
  }
}

/** Without what is null: that is left out. */
const present = (spec: object): JobSpec =>
  Object.fromEntries(Object.entries(spec).filter(([, member]) => member !== null)) as JobSpec;

type ContentKey = (place: number) => string | null;

async function contentKeyOf(
  { core }: Turn,
  { spec, text, found }: { spec: object; text: string; found: FoundVariants },
): Promise<ContentKey> {
  const contents = contentsOf({ ...present(spec), pipeline: WRITTEN }, text);
  if (contents === null) return () => null;
  const ids = datasetsOf(present(spec)).flatMap((ref) => (ref.kind === 'artifact' ? [ref.artifact_id] : []));
  const files = await core.store.loadBy(ARTIFACTS, 'id', ids);
  const pipelines = found.fingerprints.map((fingerprint) => ({
    said: `inline ${fingerprint}`,
    artifact: null,
  }));
  return contentKeys({ ...contents, pipelines }, new Map(files.map((file) => [file.id, file])));
}

function* addVariants(
  turn: Turn,
  job: JobCell,
  {
    spec,
    label: pipeline_label,
    found,
    contentKey,
  }: { spec: JobSpec; label: string; found: FoundVariants; contentKey: ContentKey },
): Generator<void> {
  const settings = settingsOf(spec);
  // What they require and are called is that of the pipeline, but that they bring no code.
  const matrix = matrixOf({ ...spec, pipeline: WRITTEN });
  const requirements = matrix.requirements.map((asked) => {
    const { id, fresh } = turn.core.queue.requirements.number(turn, asked, job.row);
    if (fresh) turn.requirements.push(fresh);
    return id;
  });
  const datasets = matrix.datasets.length;
  for (let place = 0; place < found.texts.length * datasets; place++) {
    if (place > 0 && place % AT_ONCE === 0) yield;
    const { dataset, dataset_label, requirement } = planAt(matrix, place % datasets);
    const variant = (place - dataset) / datasets;
    const own = {
      seq: nextNumber(turn, job),
      backoff_seconds: settings.backoff_seconds,
      requirement_id: requirements[requirement] as number,
      // Behind the pipeline that holds them.
      payload: { pipeline: variant + 1, dataset, role: 'variant' as const },
      pipeline_label,
      pipeline_steps: found.steps[variant] ?? null,
      dataset_label,
      timeout_seconds: settings.timeout_seconds,
      content_key: contentKey(place),
    };
    turn.addTask(newTask(turn, job.row, own, turn.now));
  }
}
