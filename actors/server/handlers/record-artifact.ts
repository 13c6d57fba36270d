import type { TaskFile } from '../../../gateway/messages.ts';
import { objectPath } from '../blobs/paths.ts';
import type { TaskCell } from '../runtime/actor-cell.ts';
import type { Turn } from '../turn/turn.ts';
import { admitUpload } from './fencing.ts';
import type { Handler } from './handler.ts';

/** Records bytes that lie in the blob store; for a task, under its attempt and role. */
export const recordArtifact: Handler<'record_artifact'> = {
  preload: ({ task }) => ({
    tasks: task ? [task.task_id] : [],
    workers: task?.worker_id === undefined ? [] : [task.worker_id],
  }),
  handle({ principal, sha256, size_bytes, kind, filename, task: upload }, { turn }) {
    const task = upload && admitUpload(turn, { principal, ...upload });
    const artifact_id = turn.makeId('art');
    const file = { sha256, size_bytes, kind, filename };
    if (upload && task) recordFile(turn, task, { ...file, role: upload.role }, artifact_id);
    else record(turn, file, artifact_id, null);
    return { artifact_id, sha256, size_bytes };
  },
};

/** @param artifact_id of `turn.makeId` */
export function recordFile(
  turn: Turn,
  task: TaskCell,
  { role, ...file }: TaskFile,
  artifact_id: string,
): void {
  record(turn, file, artifact_id, task.id);
  turn.taskArtifacts.push({ task_id: task.id, attempt: task.row.attempt, role, artifact_id });
}

function record(turn: Turn, file: Omit<TaskFile, 'role'>, id: string, task_id: string | null): void {
  const path = objectPath(file.sha256);
  const { now: created_at } = turn;
  turn.artifacts.push({ id, ...file, path, created_at, metadata: {}, task_id, orphaned_at: null });
}
