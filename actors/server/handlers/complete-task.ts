import type { MessageOf, TaskFile } from '../../../gateway/messages.ts';
import { at, withMembers } from '../../../machines/json/raw.ts';
import { knownVersion } from '../../../machines/matching/library-version.ts';
import { OUTPUT } from '../../../machines/protocol/artifact-roles.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import { cutText, LIMITS } from '../../../machines/protocol/limits.ts';
import { rankValuesOf } from '../../../machines/ranking/standing.ts';
import { metricsWith, type ResultDigest } from '../../../machines/report/digest.ts';
import type { FoundVariants } from '../../../machines/report/variants.ts';
import { MAX_TASKS } from '../../../machines/schema/job.ts';
import { libraryOf } from '../../../machines/schema/job-types.ts';
import type { ValidationIssue } from '../../../machines/schema/validate.ts';
import { expectedFingerprint } from '../jobs/job-pieces.ts';
import type { TaskCell } from '../runtime/actor-cell.ts';
import type { JobRow } from '../store/rows.ts';
import type { Turn } from '../turn/turn.ts';
import { admitReport, reportOf, tellReport } from './fencing.ts';
import type { Handler, Preloaded } from './handler.ts';
import { recordFile } from './record-artifact.ts';

type Complete = MessageOf<'complete_task'>;

/** Success with a result; it counts as cancelled when the job is being cancelled. */
export const completeTask: Handler<'complete_task'> = {
  whenStoreFails: 'wait',
  preload: ({ task_id, worker_id, result }) => ({
    tasks: [task_id],
    workers: [worker_id],
    pinsOf: [task_id],
    uploadsOf: Object.values(result.artifacts ?? {}).some((id) => id !== null) ? [task_id] : [],
  }),
  handle(message, { turn, preloaded }) {
    const { task, repeated } = admitReport(turn, message, 'complete');
    if (repeated) return repeated;
    const { result } = message;
    assertArtifacts(result, preloaded.uploads.get(task.id));
    const job = turn.job(task.row.job_id);
    const files = (message.files ?? []).map((file) => ({ file, id: turn.makeId('art') }));
    const artifacts = artifactsOf(result, files);
    const report = reportOf(task, message, 'complete');
    const found = task.row.payload.role === 'expansion' ? foundFor(job.row, result) : null;
    if (typeof found === 'string') {
      // What was found cannot be taken, and would be the same once more.
      const failure = { error: found, retriable: false, fault: 'input', elsewhere: false } as const;
      return tellReport(turn, task, {
        ...{ type: 'FAIL', now: turn.now, report, by: message.worker_id, ...failure },
      });
    }
    const names = job.row.standings.map(({ metric }) => metric);
    const metrics = metricsWith(result, names);
    const answer = tellReport(turn, task, {
      type: 'COMPLETE',
      result: withMembers(result.text, { artifacts, metrics, provenance: provenanceOf(message, task) }),
      metrics: JSON.stringify(metrics ?? {}),
      ...rankValuesOf(job.row.standings, metrics ?? {}),
      model_artifact_id: artifacts?.model ?? null,
      report,
    });
    for (const { file, id } of files) recordFile(turn, task, file, id);
    if (found !== null) turn.expanded.set(job, found);
    if (task.row.content_key !== null) keepComputed(turn, task, result);
    if (result.notes.length > 0) recordCut(turn, task, result.notes);
    if (job.row.pins_fingerprint) compareFingerprint(turn, task, result, preloaded);
    return answer;
  },
};

/**
 * The artifacts of a result by role: those that it names, and those of the files that came with it, but for outputs.
 */
function artifactsOf(
  { artifacts }: ResultDigest,
  files: readonly { file: TaskFile; id: string }[],
): ResultDigest['artifacts'] {
  if (files.length === 0) return artifacts;
  const named = files.filter(({ file }) => file.role !== OUTPUT);
  return { ...artifacts, ...Object.fromEntries(named.map(({ file, id }) => [file.role, id])) };
}

/** The variants that a job goes on with, or a sentence why it cannot. */
function foundFor({ selection, type }: JobRow, { variants }: ResultDigest): FoundVariants | string {
  if (variants === null)
    return `the worker listed no variants: its runner for ${type} cannot expand pipelines`;
  if (typeof variants === 'string') return variants;
  const datasets = selection?.datasets.length ?? 1;
  const count = variants.texts.length * datasets;
  if (count <= MAX_TASKS) return variants;
  return `${variants.texts.length} variants on ${datasets} datasets make ${count} tasks; at most ${MAX_TASKS} are allowed`;
}

/**
 * Notes what was computed, so that an equal task may be answered with it. Kept only if the result itself names the library
 * version, since the worker's declaration may have changed.
 */
function keepComputed(turn: Turn, { row }: TaskCell, result: ResultDigest): void {
  const job = turn.job(row.job_id).row;
  const said = at(result.text, `${libraryOf(job.type)}_version`);
  const version = said === undefined ? null : knownVersion(JSON.parse(said));
  if (row.status !== 'succeeded' || row.content_key === null || version === null) return;
  turn.computed.push({ content_key: row.content_key, version, owner: job.owner, task_seq: row.seq });
}

/** Who reported a result, as the server knows it (docs/protocol.md#results). */
function provenanceOf({ principal, worker_id }: Complete, task: TaskCell): Record<string, unknown> {
  return {
    source: 'worker_report',
    reported_by_principal: principal.name,
    worker_id,
    job_id: task.row.job_id,
    task_id: task.id,
    attempt: task.row.attempt,
    assignment_mode: 'server_leased_executor',
    required_rights: ['execute'],
    granted_rights: principal.rights,
  };
}

/** @throws ClusterError `invalid_body`: a result is complete only when its task has uploaded what it names */
function assertArtifacts({ artifacts }: ResultDigest, uploads: ReadonlySet<string> | undefined): void {
  const faults: ValidationIssue[] = Object.entries(artifacts ?? {})
    .filter(([, id]) => id !== null && !uploads?.has(id))
    .map(([role, id]) => ({
      path: `/artifacts/${role}`,
      message: `this task has uploaded no artifact with id '${id}'`,
    }));
  if (faults.length > 0) throw ClusterError.invalid('task result', faults);
}

/** Says why a metric is missing from a ranking, or a member from a result. */
function recordCut(turn: Turn, task: TaskCell, notes: string[]): void {
  turn.event(
    { job_id: task.row.job_id, task_id: task.id, worker_id: task.row.worker_id },
    {
      level: 'warning',
      type: 'result_cut',
      message: `the result does not fit as reported: ${notes.join('; ')}`,
      data: { notes },
    },
  );
}

function compareFingerprint(turn: Turn, task: TaskCell, result: ResultDigest, preloaded: Preloaded): void {
  const pieces = preloaded.jobPieces.get(task.row.job_id);
  const expected = pieces ? expectedFingerprint(pieces, task.row.payload.pipeline) : null;
  if (expected === null || expected === result.pipeline_fingerprint) return;
  turn.event(
    { job_id: task.row.job_id, task_id: task.id, worker_id: task.row.worker_id },
    {
      level: 'warning',
      type: 'pipeline_fingerprint_mismatch',
      message: 'the worker ran another pipeline than the client pinned',
      data: {
        expected: cutText(expected, LIMITS.value),
        reported: result.pipeline_fingerprint && cutText(result.pipeline_fingerprint, LIMITS.value),
      },
    },
  );
}
