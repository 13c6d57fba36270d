import type { JSX } from 'preact';
import type { JobView } from '../../../../../machines/schema/views.ts';
import type { Condition } from '../../../../../machines/worker/condition.ts';
import type { JobStatus, TaskStatus } from '../../model/status.ts';
import { count } from '../../text/format.ts';

type Status = JobStatus | TaskStatus | Condition | 'partly';

/** One shape each, so that they can be told apart without their colours. */
const SHAPES: Readonly<Record<Status, JSX.Element>> = {
  queued: <circle cx="6" cy="6" r="4" class="line" />,
  leased: <path d="M6 2a4 4 0 1 0 4 4" class="line" />,
  running: <path d="M2.8 1.8 10 6 2.8 10.2z" class="full" />,
  cancelling: <path d="M3 3l6 6M9 3l-6 6" class="line" />,
  lost: <path d="M4 4.2a2 2 0 1 1 2.6 1.9c-.4.2-.6.5-.6 1M6 9.4v.1" class="line" />,
  succeeded: <path d="M2 6.4 4.8 9 10 3" class="line" />,
  failed: <path d="M6 1.5v5.5M6 9.6v.3" class="line bold" />,
  cancelled: <path d="M2 6h8" class="line" />,
  alive: <circle cx="6" cy="6" r="4" class="full" />,
  draining: <path d="M6 2v6M3.2 5.4 6 8.2l2.8-2.8M2.5 10.4h7" class="line" />,
  drained: <path d="M2.5 10.4h7M2.5 6.4h7" class="line" />,
  suspended: <path d="M4 2.5v7M8 2.5v7" class="line bold" />,
  dead: <path d="M3 3l6 6M9 3l-6 6" class="line" />,
  stopped: <path d="M3 3h6v6H3z" class="line" />,
  partly: <path d="M6 1.6 11 10.4H1zM6 5v2.4M6 8.9v.1" class="line" />,
};

export function Status({ of, words = of }: { of: Status; words?: string }) {
  return (
    <span class={`status is-${of}`}>
      <svg viewBox="0 0 12 12" aria-hidden="true" focusable="false">
        {SHAPES[of]}
      </svg>
      {words}
    </span>
  );
}

/** The status of a job. Failed tasks are told whatever became of the job; one that succeeded with some is not green. */
export function StatusOfJob({ of: { status, aggregate } }: { of: JobView }) {
  const failed = aggregate.num_failed > 0 ? `${count(aggregate.num_failed)} failed` : '';
  if (failed === '' || status === 'failed') return <Status of={status} />;
  if (status === 'succeeded') return <Status of="partly" words={`succeeded, ${failed}`} />;
  return (
    <span>
      <Status of={status} />, <span class="is-failed">{failed}</span>
    </span>
  );
}
