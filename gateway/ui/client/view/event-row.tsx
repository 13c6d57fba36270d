import type { EventView } from '../../../../machines/schema/views.ts';
import { isGap } from '../model/event-tail.ts';
import { tail } from '../text/format.ts';
import { plainLog } from '../text/log-text.ts';
import { useDashboard } from './context.ts';
import { Clock } from './parts/time.tsx';

/** Characters of a message that are shown in a list; all of it is in the title. */
const MOST = 300;

/** One event in a list. `within` says what the list is about, so that it need not be repeated. */
export function EventRow({ event, within }: { event: EventView; within?: 'job' }) {
  const { level, type, ts } = event;
  return (
    <li class={`event is-${isGap(event) ? 'gap' : level}`} data-event={event.id}>
      <Clock ts={ts} />
      <span class="event-type">
        {level !== 'info' && level !== 'debug' && <span class="off-screen">{level}: </span>}
        <bdi>{isGap(event) ? 'deleted' : type}</bdi>
      </span>
      <Message of={event} />
      <Subject of={event} within={within} />
    </li>
  );
}

function Message({ of: { message, data } }: { of: EventView }) {
  const share = typeof data.progress === 'number' ? `${Math.round(data.progress * 100)}% ` : '';
  const text = share + plainLog(message);
  return (
    <bdi class="event-message" title={text.length > MOST ? text.slice(0, 4000) : undefined}>
      {text.length > MOST ? `${text.slice(0, MOST)}…` : text}
    </bdi>
  );
}

function Subject({
  of: { job_id, task_id, worker_id },
  within,
}: {
  of: EventView;
  within: 'job' | undefined;
}) {
  const dashboard = useDashboard();
  if (job_id !== null && within !== 'job') {
    const open = () => dashboard.address.go({ view: '', job: job_id, tab: '' });
    return (
      <button type="button" class="link" title={`Open ${job_id}`} onClick={open}>
        job {tail(job_id)}
      </button>
    );
  }
  if (task_id !== null) return <code title={task_id}>task {tail(task_id)}</code>;
  return worker_id === null ? null : <code title={worker_id}>worker {tail(worker_id)}</code>;
}
