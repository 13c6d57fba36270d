import { setMaxListeners } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type PQueue from 'p-queue';
import type { ClusterClient } from '../../../gateway/client/client.ts';
import { ResponseError } from '../../../gateway/client/errors.ts';
import type { AttemptRef, Outcome, ReportOutcome } from '../../../machines/attempt/attempt.ts';
import { OUTPUT } from '../../../machines/protocol/artifact-roles.ts';
import { type FailReport, PREEMPTED, type TaskReport } from '../../../machines/schema/report.ts';
import type { AttemptPaths } from '../attempt/paths.ts';
import { openPlain } from '../files.ts';
import { type Persistence, persist } from '../link/persist.ts';
import type { OutboxEntry, OutboxFile } from './outbox.ts';
import type { Reports } from './reports.ts';

/** The slowest line on which an upload is still taken for alive. */
const BYTES_PER_MS = 256;

export interface DeliveryContext {
  client: ClusterClient;
  reports: Reports;
  persistence: Persistence;
}

export interface Uploaded {
  verdict: ReportOutcome;
  /** Artifact ids by role. */
  artifacts: Record<string, string>;
}

/**
 * Uploads the files of an attempt that are not on the server yet, beside each other as far as the queue lets them, so that the
 * server can commit them together. Repeated while the server is away. A file that the server will never take is left out;
 * the result goes without it.
 * @param callbacks.uploaded called after each file, with its artifact id set
 * @param callbacks.leftOut called for each file that does not go
 */
export async function uploadFiles(
  entry: OutboxEntry,
  paths: Pick<AttemptPaths, 'base' | 'root'>,
  queue: PQueue,
  context: DeliveryContext,
  callbacks: { uploaded(): Promise<void>; leftOut(role: string, why: string): void },
): Promise<Uploaded> {
  const withReport = travelling(entry, context);
  const { log, signal } = context.persistence;
  // Each of the files waits for it, and Node.js would warn of more than ten.
  setMaxListeners(0, signal);
  let isOurs = true as boolean;
  const deliver = async (file: OutboxFile) => {
    try {
      await restore(file, paths);
      file.artifact_id = await queue.add(() => uploadFile(entry.ref, file, paths, context), { signal });
      await callbacks.uploaded();
    } catch (error) {
      if (signal.aborted) return;
      isOurs &&= !isNotOurs(error);
      if (!isOurs) return;
      const why = (error as Error).message;
      log.error({ role: file.role, why }, 'a file cannot be uploaded; left out');
      callbacks.leftOut(file.role === OUTPUT ? `output ${file.filename}` : file.role, why);
    }
  };
  const missing = entry.files.filter((f) => f.artifact_id === undefined && !withReport.includes(f));
  await Promise.all(missing.map(deliver));
  signal.throwIfAborted();
  if (!isOurs) return { verdict: 'not_ours', artifacts: {} };
  // Outputs are many under one role, which a result does not name.
  const named = entry.files.filter(({ role }) => role !== OUTPUT);
  const ids = named.flatMap((f) => (f.artifact_id === undefined ? [] : [[f.role, f.artifact_id]]));
  return { verdict: 'accepted', artifacts: Object.fromEntries(ids) };
}

/** The files of an attempt that go with the report of its end. */
const travelling = (entry: OutboxEntry | null, { reports }: DeliveryContext): OutboxFile[] =>
  reports.takeFiles
    ? (entry?.files ?? []).filter((f) => f.content !== undefined && f.artifact_id === undefined)
    : [];

/** What was to travel with the report has not been made to survive a crash of the machine by itself. */
async function restore({ path, content }: OutboxFile, { root }: Pick<AttemptPaths, 'root'>): Promise<void> {
  if (content === undefined) return;
  const bytes = Buffer.from(content, 'base64');
  await writeFile(join(root, path), bytes, { flag: 'wx' }).catch((fault: NodeJS.ErrnoException) => {
    if (fault.code !== 'EEXIST') throw fault;
  });
}

async function uploadFile(
  ref: AttemptRef,
  { role, path, filename }: OutboxFile,
  { base, root }: Pick<AttemptPaths, 'base' | 'root'>,
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

/**
 * Reports how an attempt ended, with those of its files that travel so, until the server has taken it or refused it for
 * good.
 */
export async function report(
  ref: AttemptRef,
  outcome: Outcome,
  artifacts: Record<string, string>,
  entry: OutboxEntry | null,
  context: DeliveryContext,
): Promise<ReportOutcome> {
  const { log } = context.persistence;
  try {
    await send(ref, outcome, artifacts, entry, context);
    return 'accepted';
  } catch (error) {
    if (!(error instanceof ResponseError)) throw error;
    log.warn({ why: error.message, status: error.status }, `the server refused the ${outcome.verb} report`);
    if (outcome.verb === 'fail' || isNotOurs(error)) return 'not_ours';
    // The result itself is at fault; without another report the task would run into the expiry of its lease.
    const sentence = `the server refused the result: ${error.message}`;
    return report(ref, { verb: 'fail', failure: { error: sentence, retriable: false } }, {}, entry, context);
  }
}

function send(
  ref: AttemptRef,
  outcome: Outcome,
  artifacts: Record<string, string>,
  entry: OutboxEntry | null,
  context: DeliveryContext,
): Promise<unknown> {
  const { reports, persistence } = context;
  const step = () => {
    // Asked at each try: the server may be another one by now.
    const files = travelling(entry, context).map(({ role, path, filename, content = '' }) => ({
      ...{ role, kind: role, content },
      filename: filename ?? basename(path),
    }));
    const brought = files.length > 0 && { files };
    const report: TaskReport =
      outcome.verb === 'fail'
        ? { type: 'fail', ...ref, failure: understood(outcome.failure, context), ...brought }
        : {
            ...{ type: 'complete', ...ref, ...brought },
            result: {
              ...outcome.result,
              artifacts: { model: null, logs: null, workspace: null, ...artifacts },
            },
          };
    return reports.send(report, persistence.signal);
  };
  return persist(outcome.verb, step, persistence);
}

/** To a server of an earlier version a worker's fault that nobody else can make good would end the task. */
const understood = (failure: FailReport, { reports }: DeliveryContext): FailReport =>
  isGivenBack(failure) && !reports.takesBack ? { error: 'worker stopped', retriable: true } : failure;

/** Whether there is nothing wrong with the attempt but that its worker has to end. */
export const isGivenBack = ({ reason }: FailReport): boolean => reason === PREEMPTED;

/** The attempt is another's, over, or unknown: whatever this worker has of it is worth nothing. */
export function isNotOurs(error: unknown): boolean {
  return error instanceof ResponseError && [403, 404, 409].includes(error.status);
}
