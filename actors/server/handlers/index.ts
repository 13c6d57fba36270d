import type { MessageType } from '../../../gateway/messages.ts';
import { cancelJob } from './cancel-job.ts';
import { changeJob } from './change-job.ts';
import { checkJob } from './check-job.ts';
import { completeTask } from './complete-task.ts';
import { deleteJob } from './delete-job.ts';
import { drainWorker, removeWorker, resumeWorker } from './drain-worker.ts';
import { failTask } from './fail-task.ts';
import type { Handler } from './handler.ts';
import { heartbeat } from './heartbeat.ts';
import { lease, leaseUndelivered } from './lease.ts';
import { notePeer } from './note-peer.ts';
import { cancelTask, requeueTask } from './one-task.ts';
import { pauseQueue, resumeQueue } from './pause-queue.ts';
import { recordArtifact } from './record-artifact.ts';
import { registerWorker } from './register-worker.ts';
import { reportEvents } from './report-events.ts';
import { retryJob } from './retry-job.ts';
import { startTask } from './start-task.ts';
import { submitJob } from './submit-job.ts';

/** One small file a kind of message; this table holds no logic. */
export const HANDLERS: { readonly [T in MessageType]: Handler<T> } = {
  submit_job: submitJob,
  check_job: checkJob,
  cancel_job: cancelJob,
  retry_job: retryJob,
  pause_queue: pauseQueue,
  resume_queue: resumeQueue,
  cancel_task: cancelTask,
  requeue_task: requeueTask,
  change_job: changeJob,
  delete_job: deleteJob,
  register_worker: registerWorker,
  drain_worker: drainWorker,
  resume_worker: resumeWorker,
  remove_worker: removeWorker,
  heartbeat,
  lease,
  lease_undelivered: leaseUndelivered,
  start_task: startTask,
  complete_task: completeTask,
  fail_task: failTask,
  report_events: reportEvents,
  record_artifact: recordArtifact,
  note_peer: notePeer,
};
