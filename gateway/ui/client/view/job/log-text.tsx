import { type ReadonlySignal, useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Scroller } from '../parts/scroller.tsx';

interface Props {
  text: ReadonlySignal<string>;
  /** More is to come. */
  follows: boolean;
  empty: string;
  earlier: { label: string; load: () => void } | undefined;
}

/** Pixels from the end that still count as being there. */
const NEAR = 8;

/** Lines that a program printed, at their end first. Scrolling away from the end stops following it. */
export function LogText({ text, follows, empty, earlier }: Props) {
  const frame = useRef<HTMLElement>(null);
  const following = useSignal(true);
  useLayoutEffect(() => {
    const element = frame.current;
    if (element && following.peek()) element.scrollTop = element.scrollHeight;
  }, [text.value, following.value]);
  const scrolled = () => {
    const element = frame.current;
    if (!element) return;
    following.value = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR;
  };
  return (
    <>
      <div class="log-tools">
        {earlier && (
          <button type="button" onClick={earlier.load}>
            {earlier.label}
          </button>
        )}
        <span class="grow" />
        {follows && (
          <label>
            <input
              type="checkbox"
              checked={following.value}
              onChange={(event) => {
                following.value = event.currentTarget.checked;
              }}
            />{' '}
            Follow
          </label>
        )}
      </div>
      <Scroller label="Log" class="frame log-text" frame={frame} onScroll={scrolled}>
        <pre>{text.value || <span class="muted">{empty}</span>}</pre>
      </Scroller>
    </>
  );
}
