import type { JSX } from 'preact';
import type { JobStatus, TaskStatus } from '../../model/status.ts';

type Status = JobStatus | TaskStatus | 'alive' | 'dead';

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
  dead: <path d="M3 3l6 6M9 3l-6 6" class="line" />,
};

export function Status({ of }: { of: Status }) {
  return (
    <span class={`status is-${of}`}>
      <svg viewBox="0 0 12 12" aria-hidden="true" focusable="false">
        {SHAPES[of]}
      </svg>
      {of}
    </span>
  );
}
