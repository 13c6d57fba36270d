import { ResponseError } from '../../../gateway/client/errors.ts';
import type { AttemptRef } from '../../../machines/attempt/attempt.ts';
import type { ReportedEvent } from '../../../machines/schema/report.ts';
import { kindOf } from '../link/link-errors.ts';
import type { Reports } from './reports.ts';

/** So many answers "internal fault" in a row are taken as the server's last word. */
const MAX_INTERNAL = 8;

/** What sends the events of an attempt; see `TaskEvents` for when it rejects. */
export function eventSender(reports: Reports, ref: AttemptRef) {
  let internal = 0;
  return async (events: ReportedEvent[]): Promise<void> => {
    try {
      await reports.send({ type: 'events', ...ref, events });
      internal = 0;
    } catch (error) {
      internal = error instanceof ResponseError && error.status === 500 ? internal + 1 : 0;
      const kind = kindOf(error);
      // A missing right will not come back for the sake of a log, which is an artifact in the end.
      if (kind === 'transient' && internal < MAX_INTERNAL) throw error;
    }
  };
}
