import { OUTPUT } from '../../../machines/protocol/artifact-roles.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import type { Principal } from '../../../machines/protocol/rights.ts';
import type { ReportDigest } from '../../../machines/report/digest.ts';
import type { ReportedFile } from '../../../machines/schema/report.ts';
import type { Backend, PlacedBytes } from '../../backend.ts';
import { safeFilename } from '../../http/reply/filename.ts';
import type { ReplyOf, TaskFile } from '../../messages.ts';
import { errorBody, statusOf } from '../errors.ts';

type Reply = ReplyOf<'start_task'> | ReplyOf<'fail_task'>;

/** The files of a report, whose bytes are durable. */
interface StoredFiles {
  files: TaskFile[];
  /** A sentence for each that is too large to be kept: the report goes without it. */
  leftOut: string[];
  bytes: PlacedBytes[];
}

const NONE: StoredFiles = { files: [], leftOut: [], bytes: [] };

/**
 * Hands many reports on, in their order, once the files that come with them are durable; what becomes of each is
 * told by itself, so that one report's refusal does not hide its neighbours' answers.
 */
export async function sendReports(backend: Backend, principal: Principal, reports: readonly ReportDigest[]) {
  const bringFiles = reports.some((report) => 'files' in report);
  const placed = bringFiles ? await Promise.all(reports.map((report) => storeFiles(backend, report))) : [];
  return Promise.all(
    reports.map(async (report, i) => {
      const its = placed[i] ?? NONE;
      if (its instanceof ClusterError) return refusal(its);
      reportLeftOut(backend, principal, report, its.leftOut);
      const reply = await answered(sendReport(backend, principal, report, its.files));
      // What no artifact names now is let go; that this fails as well is mended at the next start.
      await Promise.all(its.bytes.map((bytes) => bytes.release().catch(() => {})));
      return reply;
    }),
  );
}

async function storeFiles({ blobs }: Backend, report: ReportDigest): Promise<StoredFiles | ClusterError> {
  const reported: readonly ReportedFile[] = 'files' in report ? (report.files ?? []) : [];
  const placed: StoredFiles = { files: [], leftOut: [], bytes: [] };
  try {
    for (const { role, kind = 'blob', filename, content } of reported) {
      const name = safeFilename(filename);
      try {
        const bytes = await blobs.place(Buffer.from(content, 'base64'));
        const { sha256, size_bytes } = bytes;
        placed.bytes.push(bytes);
        placed.files.push({ role, kind, filename: name, sha256, size_bytes });
      } catch (error) {
        if (!(error instanceof ClusterError) || error.code !== 'artifact_too_large') throw error;
        const what = role === OUTPUT && name !== null ? `output ${name}` : role;
        placed.leftOut.push(`the ${what} could not be uploaded: ${error.message}`);
      }
    }
    return placed;
  } catch (error) {
    for (const bytes of placed.bytes) await bytes.release().catch(() => {});
    if (error instanceof ClusterError) return error;
    throw error;
  }
}

/** Said ahead of the report, as the worker would have said it of an upload. Should it fail, the report tells why. */
function reportLeftOut(
  backend: Backend,
  principal: Principal,
  { task_id, worker_id, attempt }: ReportDigest,
  leftOut: readonly string[],
): void {
  if (leftOut.length === 0) return;
  const by = {
    ...(worker_id === undefined ? {} : { worker_id }),
    ...(attempt === undefined ? {} : { attempt }),
  };
  const events = leftOut.map((message) => ({ level: 'warning' as const, type: 'log', message, data: '{}' }));
  backend.send({ type: 'report_events', principal, task_id, ...by, events }).catch(() => {});
}

/** The message that a report among many is. */
function sendReport(
  backend: Backend,
  principal: Principal,
  report: ReportDigest,
  files: TaskFile[],
): Promise<Reply> {
  const { task_id, worker_id, attempt } = report;
  const about = { principal, task_id, ...(attempt === undefined ? {} : { attempt }) };
  const brought = files.length > 0 ? { files } : {};
  switch (report.type) {
    case 'start':
      return backend.send({ type: 'start_task', ...about, worker_id: report.worker_id });
    case 'events':
      return backend.send({
        type: 'report_events',
        ...about,
        ...(worker_id === undefined ? {} : { worker_id }),
        events: report.events,
      });
    case 'complete':
      return backend.send({
        ...{ type: 'complete_task', ...about, ...brought },
        worker_id: report.worker_id,
        result: report.result,
      });
    case 'fail':
      return backend.send({
        ...{ type: 'fail_task', ...about, ...brought },
        worker_id: report.worker_id,
        failure: report.failure,
      });
  }
}

async function answered(reply: Promise<Reply>) {
  try {
    return await reply;
  } catch (error) {
    if (!(error instanceof ClusterError)) throw error;
    return refusal(error);
  }
}

/** The error that a report would have got by itself. */
const refusal = (fault: ClusterError) => ({ ok: false, status: statusOf(fault), error: errorBody(fault) });
