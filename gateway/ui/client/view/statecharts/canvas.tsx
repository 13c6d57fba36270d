import type { ComponentChildren, TargetedKeyboardEvent } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type ChartView, type Chosen, ZOOMS } from '../../model/statecharts/chart-view.ts';
import type { Drawing } from '../../model/statecharts/drawing.ts';
import { Scroller } from '../parts/scroller.tsx';
import { listen } from './gestures.ts';

interface Props {
  label: string;
  view: ChartView;
  drawing: Drawing;
  /** @param scale of what it draws, 1 for its full size */
  children: (scale: number) => ComponentChildren;
}

/** Letters of this share of their size can still be read. */
const READABLE = 0.7;
/** What stays put while the size changes: a point of the picture, and where in the frame it is. */
interface Anchor {
  x: number;
  y: number;
  left: number;
  top: number;
}

/**
 * A frame over a picture that may be larger. Wheel, trackpad, fingers and arrow keys scroll it as they scroll anything;
 * `+`, `-`, `0` (all of it) and `1` (full size) change its size.
 */
export function Canvas({ label, view, drawing, children }: Props) {
  const frame = useRef<HTMLElement>(null);
  const anchor = useRef<Anchor | null>(null);
  const room = useRoom(frame);
  const all = Math.min(1, (room.width - 24) / drawing.width, (room.height - 24) / drawing.height);
  const zoom = view.zoom.value ?? (all < READABLE && view.target.value !== null ? 1 : 'all');
  const scale = zoom === 'all' ? Math.max(ZOOMS.least, all) : zoom;

  const zoomTo = (wanted: number, at?: { x: number; y: number }) => {
    const box = frame.current?.getBoundingClientRect();
    const sheet = frame.current?.firstElementChild?.getBoundingClientRect();
    if (!box || !sheet) return;
    const held = at ?? { x: box.left + box.width / 2, y: box.top + box.height / 2 };
    anchor.current = {
      x: (held.x - sheet.left) / scale,
      y: (held.y - sheet.top) / scale,
      left: held.x - box.left,
      top: held.y - box.top,
    };
    view.zoom.value = Math.max(ZOOMS.least, Math.min(ZOOMS.most, wanted));
  };
  const now = useRef({ zoomTo, scale });
  now.current = { zoomTo, scale };
  useEffect(() => {
    if (!frame.current) return;
    return listen(frame.current, {
      zoom: (factor, at) => now.current.zoomTo(now.current.scale * factor, at),
      press: (target) => {
        const chosen = chosenAt(target);
        if (chosen) view.chosen.value = chosen;
      },
    });
  }, [view]);
  useLayoutEffect(() => {
    const held = anchor.current;
    const sheet = frame.current?.firstElementChild as HTMLElement | undefined;
    anchor.current = null;
    if (!held || !sheet) return;
    frame.current?.scrollTo(
      sheet.offsetLeft + held.x * scale - held.left,
      sheet.offsetTop + held.y * scale - held.top,
    );
  }, [scale]);
  const target = view.target.value;
  const known = room.width > 0;
  useEffect(() => {
    if (known && target && frame.current) bringIntoSight(frame.current, drawing, target.state, scale);
  }, [target, drawing, known]);

  /** Letters as they are elsewhere; what was pointed at stays in sight. */
  const fullSize = () => {
    const chosen = view.chosen.peek();
    zoomTo(1);
    if (chosen) view.reveal('state' in chosen ? chosen.state : chosen.from);
  };
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === '+' || event.key === '=') zoomTo(scale * ZOOMS.step);
    else if (event.key === '-' || event.key === '_') zoomTo(scale / ZOOMS.step);
    else if (event.key === '1') fullSize();
    else if (event.key === '0') view.zoom.value = 'all';
    else return;
    event.preventDefault();
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys go to the frame in it, which takes the focus
    <div class="chart-canvas" onKeyDown={onKeyDown}>
      <fieldset class="chart-zoom">
        <legend class="off-screen">Size of the picture</legend>
        <button
          type="button"
          title="Smaller (-)"
          aria-label="Smaller"
          onClick={() => zoomTo(scale / ZOOMS.step)}
        >
          −
        </button>
        <output aria-label="Size">{Math.round(scale * 100)} %</output>
        <button
          type="button"
          title="Larger (+)"
          aria-label="Larger"
          onClick={() => zoomTo(scale * ZOOMS.step)}
        >
          +
        </button>
        <button
          type="button"
          title="All of it in sight (0)"
          aria-pressed={zoom === 'all'}
          onClick={() => {
            view.zoom.value = 'all';
          }}
        >
          Fit
        </button>
        <button type="button" title="Full size (1)" aria-pressed={zoom === 1} onClick={fullSize}>
          1:1
        </button>
      </fieldset>
      <Scroller label={label} class="chart-frame" frame={frame}>
        <div
          class={scale < 0.5 ? 'chart-sheet is-far' : 'chart-sheet'}
          style={{ width: `${drawing.width * scale}px`, height: `${drawing.height * scale}px` }}
        >
          {children(scale)}
        </div>
      </Scroller>
    </div>
  );
}

/** The size of the frame, which changes with that of the window. */
function useRoom(frame: { current: HTMLElement | null }): { width: number; height: number } {
  const [room, setRoom] = useState({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const measured = frame.current;
    if (!measured) return;
    const measure = () => setRoom({ width: measured.clientWidth, height: measured.clientHeight });
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(measured);
    return () => observer.disconnect();
  }, []);
  return room;
}

function chosenAt(target: Element): Chosen | null {
  const pressed = target.closest<SVGElement>('[data-state],[data-from]');
  if (!pressed || target.closest('button')) return null;
  const { state, from, to } = pressed.dataset;
  if (state !== undefined) return { state };
  return from !== undefined && to !== undefined ? { from, to } : null;
}

/** Scrolls the frame, not the page, until a state, or what hides it, is in its middle. */
function bringIntoSight(frame: HTMLElement, drawing: Drawing, id: string, scale: number): void {
  const around = drawing.boxes.filter(({ state }) => id === state.id || id.startsWith(`${state.id}.`));
  const box = around.at(-1);
  const sheet = frame.firstElementChild as HTMLElement | null;
  if (!box || !sheet) return;
  frame.scrollTo(
    sheet.offsetLeft + (box.x + box.width / 2) * scale - frame.clientWidth / 2,
    sheet.offsetTop + (box.y + Math.min(box.height, 80) / 2) * scale - frame.clientHeight / 2,
  );
}
