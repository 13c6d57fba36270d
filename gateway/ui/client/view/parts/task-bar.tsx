import type { Aggregate } from '../../../../../machines/schema/views.ts';
import { count, counted } from '../../text/format.ts';

const PARTS = ['succeeded', 'failed', 'cancelled', 'running', 'queued'] as const;

/** A job's tasks by status, as one bar and in words. */
export function TaskBar({ of }: { of: Aggregate }) {
  const total = of.num_tasks;
  const parts = PARTS.map((status) => ({ status, n: of[`num_${status}`] })).filter(({ n }) => n > 0);
  const words = `${counted(total, 'task')}: ${parts.map(({ status, n }) => `${count(n)} ${status}`).join(', ')}`;
  const ended = of.num_succeeded + of.num_failed + of.num_cancelled;
  let x = 0;
  return (
    <span class="task-bar" title={words}>
      <svg viewBox="0 0 100 6" preserveAspectRatio="none" role="img" aria-label={words}>
        {parts.map(({ status, n }) => {
          const width = (n / Math.max(1, total)) * 100;
          x += width;
          return <rect key={status} class={`fill-${status}`} x={x - width} y="0" width={width} height="6" />;
        })}
      </svg>
      <span aria-hidden="true">
        {count(ended)}/{count(total)}
      </span>
    </span>
  );
}
