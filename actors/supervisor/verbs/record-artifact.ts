import { objectPath } from '../../blobs/paths.ts';
import { admitMention } from '../reports.ts';
import type { Verb } from '../verb.ts';

/** Records bytes that lie in the blob store; for a task, under its attempt and role. */
export const recordArtifact: Verb<'record_artifact'> = {
  needs: ({ task }) => ({
    tasks: task ? [task.task_id] : [],
    workers: task?.worker_id === undefined ? [] : [task.worker_id],
  }),
  run({ principal, sha256, size_bytes, kind, filename, task: upload }, { turn }) {
    const task = upload && admitMention(turn, { principal, ...upload });
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
    if (upload && task) {
      turn.taskArtifacts.push({
        task_id: task.id,
        attempt: task.row.attempt,
        role: upload.role,
        artifact_id: id,
      });
    }
    return { artifact_id: id, sha256, size_bytes };
  },
};
