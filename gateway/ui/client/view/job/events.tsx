import { useEffect, useMemo } from 'preact/hooks';
import { EventTail } from '../../model/event-tail.ts';
import { useDashboard } from '../context.ts';
import { EventRow } from '../event-row.tsx';
import { Scroller } from '../parts/scroller.tsx';
import { Fault } from '../parts/section.tsx';

/** The last events of a job, newest first, and more as they come. */
export function JobEvents({ jobId }: { jobId: string }) {
  const { api, hub } = useDashboard();
  const tail = useMemo(() => new EventTail(api, hub, { jobId, page: 100, kept: 500 }), [jobId]);
  useEffect(() => {
    tail.start();
    return () => tail.stop();
  }, [tail]);
  const { rows, fault, hasEarlier, empty } = tail;
  return (
    <>
      {fault.value !== null && <Fault text={fault.value} onRetry={() => void tail.earlier()} />}
      {empty.value && <p class="empty">No events.</p>}
      <Scroller label="Events of the job" class="event-frame">
        <ol class="events">
          {[...rows.value].reverse().map((event) => (
            <EventRow key={event.id} event={event} within="job" />
          ))}
        </ol>
        {hasEarlier.value && (
          <p class="more">
            <button type="button" onClick={() => void tail.earlier()}>
              Earlier events
            </button>
          </p>
        )}
      </Scroller>
    </>
  );
}
