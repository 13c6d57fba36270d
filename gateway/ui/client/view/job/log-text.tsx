import { type ReadonlySignal, useComputed, useSignal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { counted } from '../../text/format.ts';
import { withoutProgress } from '../../text/log-text.ts';
import { Checkbox } from '../parts/checkbox.tsx';
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
  const unfolded = useSignal(false);
  const lines = useComputed(() => withoutProgress(text.value));
  const { folded } = lines.value;
  const shown = unfolded.value ? text.value : lines.value.text;
  useLayoutEffect(() => {
    const element = frame.current;
    if (element && following.peek()) element.scrollTop = element.scrollHeight;
  }, [shown, following.value]);
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
        {folded > 0 && <Checkbox label={counted(folded, 'progress line')} of={unfolded} />}
        {follows && <Checkbox label="Follow" of={following} />}
      </div>
      <Scroller label="Log" class="frame log-text" frame={frame} onScroll={scrolled}>
        <pre>{shown || <span class="muted">{folded > 0 ? 'Nothing but progress so far.' : empty}</span>}</pre>
      </Scroller>
    </>
  );
}
