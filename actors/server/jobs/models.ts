import type { MessageOf } from '../../../gateway/messages.ts';
import { at, RawJson, withMember } from '../../../machines/json/raw.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import { isPrediction, libraryOf, PLAIN_MODELS } from '../../../machines/schema/job-types.ts';
import { hasEnded } from '../../../machines/schema/statuses.ts';
import { modelPart } from '../../../machines/submission/contents.ts';
import type { JobDigest } from '../../../machines/submission/job-digest.ts';
import type { Preloaded } from '../handlers/handler.ts';
import type { JobRow } from '../store/rows.ts';
import type { Turn } from '../turn/turn.ts';

type Submit = Pick<MessageOf<'submit_job'>, 'job' | 'allow_code'>;

/**
 * A submitted job with the model that it predicts with: the best of a job becomes the artifact that it is now, so that
 * a retry of that job changes nothing here, and so that it stays while this job does.
 * @throws ClusterError `job_not_ended`; `invalid_body` where there is no such model; `python_jobs_disabled` for one
 *   that is code of its submitter
 */
export function withModel({ job, allow_code }: Submit, turn: Turn, preloaded: Preloaded): JobDigest {
  const { model } = job;
  if (model === null) return job;
  if (model.kind === 'artifact') return withCode(job, model.artifact_id, allow_code, preloaded);
  const found = withBestModel(job, model.job_id, turn, preloaded);
  return withCode(found, found.artifacts.ids.at(-1) as string, allow_code, preloaded);
}

/** A model that was uploaded, or that code of its submitter has made, goes where such code may run. */
function withCode(
  job: JobDigest,
  model: string,
  allow_code: boolean | undefined,
  { trusted }: Preloaded,
): JobDigest {
  const library = libraryOf(job.type);
  if (trusted.has(model) || PLAIN_MODELS.includes(library)) return job;
  if (allow_code !== true) {
    throw new ClusterError(
      'python_jobs_disabled',
      `a model of ${library} is code to whoever loads it, and this one was uploaded, or made by code: it is refused, since the server runs without --allow-python-jobs; predict with one that a job of this server has made of a pipeline`,
    );
  }
  return { ...job, matrix: { ...job.matrix, code: [1] } };
}

function withBestModel(job: JobDigest, jobId: string, turn: Turn, preloaded: Preloaded): JobDigest {
  const found = turn.findJob(jobId)?.row;
  if (!found) throw fault('job_id', `no job with id '${jobId}'`);
  const library = libraryOf(job.type);
  if (libraryOf(found.type) !== library) {
    throw fault('job_id', `job ${jobId} is of type ${found.type}; ${job.type} needs a model of ${library}`);
  }
  if (isPrediction(found.type)) throw fault('job_id', `job ${jobId} predicts and has made no model`);
  const artifact_id = found.best_model_artifact_id;
  // One that ends in this very turn had not ended when it was asked for.
  if (!hasEnded(found.status) || preloaded.bestModels.get(jobId) !== artifact_id) {
    throw new ClusterError(
      'job_not_ended',
      `job ${jobId} ${hasEnded(found.status) ? 'is just ending' : `is ${found.status}`}; its best model is known when it has ended: wait for it, or name the artifact of one of its models`,
    );
  }
  if (artifact_id === null) throw fault('job_id', `job ${jobId} has no best model: ${whyNone(found)}`);
  if (!preloaded.artifacts.has(artifact_id)) {
    throw fault(
      'job_id',
      `the best model of job ${jobId} was deleted, as the server is set (--keep-artifacts)`,
    );
  }
  const model = { kind: 'best_model', job_id: jobId, artifact_id } as const;
  const written = withMember(at(job.text, 'model') ?? '{}', 'artifact_id', artifact_id);
  return {
    ...job,
    text: withMember(job.text, 'model', new RawJson(written)),
    artifacts: { ids: [...job.artifacts.ids, artifact_id], paths: [...job.artifacts.paths, '/model/job_id'] },
    contents: job.contents && { ...job.contents, pipelines: [modelPart(model)] },
  };
}

const whyNone = ({ status, rank_metric, best_task_id }: JobRow): string => {
  if (status !== 'succeeded') return status === 'failed' ? 'it failed' : 'it was cancelled';
  if (best_task_id !== null) return `its best task, ${best_task_id}, kept none`;
  return `none of its tasks reported '${rank_metric}', by which it ranks; name the artifact of a model instead`;
};

const fault = (member: string, message: string): ClusterError =>
  ClusterError.invalid('job', [{ path: `/model/${member}`, message }]);
