import type { MessageOf } from '../../../gateway/messages.ts';
import { ClusterError } from '../../../machines/errors.ts';
import { objectPath } from '../../blobs.ts';
import { hear, ownWorker } from '../life.ts';
import { assertHolder } from '../reports.ts';
import type { Turn } from '../turn.ts';
import type { Verb } from '../verb.ts';

type Upload = NonNullable<MessageOf<'record_artifact'>['task']>;

/** Records bytes that lie in the blob store; for a task, under its attempt and role. */
export const recordArtifact: Verb<'record_artifact'> = {
  needs: ({ task }) => ({ tasks: task ? [task.task_id] : [] }),
  run({ principal, sha256, size_bytes, kind, filename, task: upload }, { turn }) {
    const attempt = upload ? admitUpload(turn, principal, upload) : 0;
    const id = turn.core.makeId('art');
    turn.artifacts.push({
      id,
      sha256,
      kind,
      path: objectPath(sha256),
      size_bytes,
      created_at: turn.now,
      filename,
      metadata: {},
    });
    if (upload) {
      const { task_id, role } = upload;
      turn.taskArtifacts.push({ task_id, attempt, role, artifact_id: id });
    }
    return { artifact_id: id, sha256, size_bytes };
  },
};

/** The attempt that the upload belongs to. */
function admitUpload(
  turn: Turn,
  principal: MessageOf<'record_artifact'>['principal'],
  upload: Upload,
): number {
  const task = turn.core.registry.task(upload.task_id);
  const holder = upload.worker_id ?? task.row.worker_id;
  if (holder !== null) {
    const worker = ownWorker(turn, principal, holder);
    if (upload.worker_id !== undefined) hear(turn, worker);
  }
  if (upload.worker_id !== undefined) assertHolder(task, upload.worker_id, upload.attempt);
  else if (upload.attempt !== undefined && upload.attempt !== task.row.attempt) {
    throw new ClusterError(
      'stale_attempt',
      `task ${task.id} is at attempt ${task.row.attempt}, the upload is for ${upload.attempt}`,
    );
  }
  turn.core.signs.set(task.id, turn.core.clock.monotonic());
  return task.row.attempt;
}
