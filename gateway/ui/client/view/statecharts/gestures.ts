/** What hands do on a picture that is larger than its frame. Scrolling is the browser's own. */
export interface Gestures {
  /** @param at what stays where it is, in pixels of the window */
  zoom(factor: number, at: { x: number; y: number }): void;
  /** Something of the picture was pressed. */
  press(target: Element): void;
}

/** A hand that presses trembles by so many pixels. */
const TREMOR = 4;

/**
 * Dragging with the mouse moves the picture; the wheel with Ctrl, a pinch on a trackpad (which browsers tell as the
 * same) and two fingers on glass change its size. Returns the way to stop.
 */
export function listen(frame: HTMLElement, gestures: Gestures): () => void {
  const stopped = new AbortController();
  const on = <K extends keyof HTMLElementEventMap>(
    type: K,
    act: (event: HTMLElementEventMap[K]) => void,
    capture = false,
  ) => frame.addEventListener(type, act, { signal: stopped.signal, passive: false, capture });
  let from: { x: number; y: number; left: number; top: number } | null = null;
  let dragged = false;
  let spread = 0;

  on('wheel', (event) => {
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    // A wheel tells lines or large steps, a trackpad small ones.
    const step = event.deltaMode === 0 ? event.deltaY : event.deltaY * 16;
    gestures.zoom(Math.exp(-Math.max(-40, Math.min(40, step)) * 0.01), pointOf(event));
  });
  on('pointerdown', (event) => {
    dragged = false;
    const button = event.target instanceof Element && event.target.closest('button') !== null;
    if (event.pointerType !== 'mouse' || event.button > 1 || button) return;
    from = { ...pointOf(event), left: frame.scrollLeft, top: frame.scrollTop };
  });
  on('pointermove', (event) => {
    if (!from) return;
    const [dx, dy] = [event.clientX - from.x, event.clientY - from.y];
    if (!dragged && Math.hypot(dx, dy) < TREMOR) return;
    if (!dragged) frame.setPointerCapture(event.pointerId);
    dragged = true;
    frame.classList.add('is-dragged');
    frame.scrollTo(from.left - dx, from.top - dy);
  });
  const release = () => {
    from = null;
    frame.classList.remove('is-dragged');
  };
  on('pointerup', release);
  on('pointercancel', release);
  on('click', (event) => {
    if (!dragged && event.target instanceof Element) gestures.press(event.target);
  });
  on('dblclick', (event) => {
    if (event.target instanceof Element && event.target.closest('[data-state],[data-from]') === null)
      gestures.zoom(1.6, pointOf(event));
  });
  on('touchmove', (event) => {
    const [a, b] = event.touches;
    if (!a || !b) return;
    event.preventDefault();
    const now = Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
    const middle = { x: (a.clientX + b.clientX) / 2, y: (a.clientY + b.clientY) / 2 };
    if (spread > 0) gestures.zoom(now / spread, middle);
    spread = now;
  });
  on('touchend', () => {
    spread = 0;
  });
  return () => stopped.abort();
}

const pointOf = ({ clientX, clientY }: MouseEvent) => ({ x: clientX, y: clientY });
