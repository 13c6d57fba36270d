import { join } from 'node:path';
import type PQueue from 'p-queue';
import type { ClusterClient } from '../../../gateway/client/client.ts';
import { AnsweredError } from '../../../gateway/client/errors.ts';
import type { AttemptRef, Outcome, Verdict } from '../../../machines/run.ts';
import { openPlain } from '../files.ts';
import { type Persistence, persist } from '../link/persist.ts';
import type { RunPaths } from '../paths.ts';
import type { OutboxEntry, OutboxFile } from './outbox.ts';

/** The server may wait 30 s for its store before it answers (contract, "Errors", 503). */
const REPORT_TIMEOUT_MS = 45_000;
/** The slowest line on which an upload is still taken for alive. */
const BYTES_PER_MS = 256;

export interface DeliveryContext {
  client: ClusterClient;
  persistence: Persistence;
}

export interface Uploaded {
  verdict: Verdict;
  /** Artifact ids by role. */
  artifacts: Record<string, string>;
}

/**
 * Uploads the files of an attempt that are not on the server yet. Repeated while the server is away. A file
 * that the server will never take is left out; the result goes without it.
 * @param told.uploaded called after each file, with its artifact id set
 * @param told.leftOut called for each file that does not go
 */
export async function uploadFiles(
  entry: OutboxEntry,
  paths: Pick<RunPaths, 'base' | 'root'>,
  queue: PQueue,
  context: DeliveryContext,
  told: { uploaded(): Promise<void>; leftOut(role: string, why: string): void },
): Promise<Uploaded> {
  for (const file of entry.files.filter((f) => f.artifact_id === undefined)) {
    try {
      file.artifact_id = await queue.add(() => uploadFile(entry.ref, file, paths, context), {
        signal: context.persistence.signal,
      });
      await told.uploaded();
    } catch (fault) {
      const { log, signal } = context.persistence;
      signal.throwIfAborted();
      if (isNotOurs(fault)) return { verdict: 'not_ours', artifacts: {} };
      const why = (fault as Error).message;
      log.error({ role: file.role, why }, 'a file cannot be uploaded; left out');
      told.leftOut(file.role === 'output' ? `output ${file.filename}` : file.role, why);
    }
  }
  // Outputs are many under one role, which a result does not name.
  const named = entry.files.filter(({ role }) => role !== 'output');
  const ids = named.flatMap((f) => (f.artifact_id === undefined ? [] : [[f.role, f.artifact_id]]));
  return { verdict: 'accepted', artifacts: Object.fromEntries(ids) };
}

async function uploadFile(
  ref: AttemptRef,
  { role, path, filename }: OutboxFile,
  { base, root }: Pick<RunPaths, 'base' | 'root'>,
  { client, persistence }: DeliveryContext,
): Promise<string> {
  const file = join(root, path);
  const open = () => openPlain(base, file);
  // Asked here, where a missing file is not yet taken for a broken connection.
  const content = await open();
  const { size } = await content.stat().finally(() => content.close());
  const uploaded = await persist(
    `upload of ${filename ?? role}`,
    () =>
      client.upload('uploadTaskArtifact', {
        params: { id: ref.task_id },
        query: { role, kind: role, worker_id: ref.worker_id, attempt: ref.attempt },
        file,
        open,
        ...(filename !== undefined && { filename }),
        timeoutMs: 60_000 + size / BYTES_PER_MS,
        signal: persistence.signal,
      }),
    persistence,
  );
  return uploaded.artifact_id;
}

/** Reports how an attempt ended, until the server has taken it or refused it for good. */
export async function report(
  ref: AttemptRef,
  outcome: Outcome,
  artifacts: Record<string, string>,
  context: DeliveryContext,
): Promise<Verdict> {
  const { log } = context.persistence;
  try {
    await send(ref, outcome, artifacts, context);
    return 'accepted';
  } catch (fault) {
    if (!(fault instanceof AnsweredError)) throw fault;
    log.warn({ why: fault.message, status: fault.status }, `the server refused the ${outcome.verb} report`);
    if (outcome.verb === 'fail' || isNotOurs(fault)) return 'not_ours';
    // The result itself is at fault; without another report the task would run into the lapse of its lease.
    const error = `the server refused the result: ${fault.message}`;
    return report(ref, { verb: 'fail', failure: { error, retriable: false } }, {}, context);
  }
}

function send(
  ref: AttemptRef,
  outcome: Outcome,
  artifacts: Record<string, string>,
  { client, persistence }: DeliveryContext,
): Promise<unknown> {
  const aim = {
    params: { id: ref.task_id },
    query: { worker_id: ref.worker_id, attempt: ref.attempt },
    timeoutMs: REPORT_TIMEOUT_MS,
    signal: persistence.signal,
  };
  if (outcome.verb === 'fail') {
    return persist('fail', () => client.call('failTask', { ...aim, body: outcome.failure }), persistence);
  }
  const { model = null, logs = null, workspace = null } = artifacts;
  const body = { ...outcome.result, artifacts: { model, logs, workspace } };
  return persist('complete', () => client.call('completeTask', { ...aim, body }), persistence);
}

/** The attempt is another's, over, or unknown: whatever this worker has of it is worth nothing. */
export function isNotOurs(fault: unknown): boolean {
  return fault instanceof AnsweredError && [403, 404, 409].includes(fault.status);
}
