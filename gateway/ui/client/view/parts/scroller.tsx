import type { ComponentChildren, Ref } from 'preact';

interface Props {
  label: string;
  class: string;
  children: ComponentChildren;
  frame?: Ref<HTMLElement>;
  onScroll?: () => void;
  /** A stream rather than a region; it does not read itself aloud. */
  log?: boolean;
}

/** Something larger than its frame. */
export function Scroller({ label, class: name, children, frame, onScroll, log = false }: Props) {
  return (
    <section
      ref={frame}
      class={name}
      aria-label={label}
      {...(log ? { role: 'log', 'aria-live': 'off' } : {})}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must be able to scroll it
      tabIndex={0}
      onScroll={onScroll}
    >
      {children}
    </section>
  );
}
