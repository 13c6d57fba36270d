import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { count } from '../../text/format.ts';

const STEP = 50;

/** How many of a long list are shown, and the button that shows more of it. */
export function useMore(total: number): { shown: number; more: ComponentChildren } {
  const [wanted, setWanted] = useState(STEP);
  const shown = Math.min(wanted, total);
  const more =
    shown < total ? (
      <p class="more">
        <button type="button" onClick={() => setWanted(wanted + STEP * 4)}>
          Show {count(Math.min(STEP * 4, total - shown))} more
        </button>
        <span class="muted">
          {count(shown)} of {count(total)}
        </span>
      </p>
    ) : null;
  return { shown, more };
}
