import type { ChartView } from '../../model/statecharts/chart-view.ts';
import type { Drawing } from '../../model/statecharts/drawing.ts';
import { SIZES, textWidth } from '../../model/statecharts/sizes.ts';

/** Beside the title of each state that holds others: opens and closes it. They lie on the picture, not in it. */
export function Toggles({ view, drawing, scale }: { view: ChartView; drawing: Drawing; scale: number }) {
  const collapsible = new Set(view.collapsible.value.map(({ id }) => id));
  return (
    <>
      {drawing.boxes
        .filter(({ state }) => collapsible.has(state.id))
        .map(({ state: { id, key }, x, y, frame }) => (
          <button
            key={id}
            type="button"
            class="chart-toggle"
            aria-expanded={frame}
            aria-label={`Inside of ${key}`}
            title={frame ? `Hide what is in ${key}` : `Show what is in ${key}`}
            style={{
              left: `${(x + 12 + textWidth(key) * 1.12) * scale}px`,
              top: `${(y + 4) * scale}px`,
              width: `${SIZES.toggle * scale}px`,
              height: `${SIZES.toggle * scale}px`,
              fontSize: `${13 * scale}px`,
            }}
            onClick={() => view.toggle(id)}
          >
            {frame ? '−' : '+'}
          </button>
        ))}
    </>
  );
}
