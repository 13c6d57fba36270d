import { ClusterError } from '../../../machines/errors.ts';
import type { ReportDigest } from '../../../machines/report-digest.ts';
import type { Principal } from '../../../machines/rights.ts';
import type { ReplyOf } from '../../messages.ts';
import type { ClusterPort } from '../../ports.ts';
import { errorBody, statusOf } from '../errors.ts';

type Reply = ReplyOf<'start_task'> | ReplyOf<'fail_task'>;

/** The message that a report among many is. */
export function sendReport(port: ClusterPort, principal: Principal, report: ReportDigest): Promise<Reply> {
  const { task_id, worker_id, attempt } = report;
  const about = { principal, task_id, ...(attempt === undefined ? {} : { attempt }) };
  switch (report.type) {
    case 'start':
      return port.send({ type: 'start_task', ...about, worker_id: report.worker_id });
    case 'events':
      return port.send({
        type: 'report_events',
        ...about,
        ...(worker_id === undefined ? {} : { worker_id }),
        events: report.events,
      });
    case 'complete':
      return port.send({
        type: 'complete_task',
        ...about,
        worker_id: report.worker_id,
        result: report.result,
      });
    case 'fail':
      return port.send({ type: 'fail_task', ...about, worker_id: report.worker_id, failure: report.failure });
  }
}

/** Its answer, or the error it would have got by itself: one report's refusal must not hide its neighbours' answers. */
export async function answered(reply: Promise<Reply>) {
  try {
    return await reply;
  } catch (fault) {
    if (!(fault instanceof ClusterError)) throw fault;
    return { ok: false, status: statusOf(fault), error: errorBody(fault) };
  }
}
