import type { ComponentChildren } from 'preact';
import type { Refresher } from '../../model/refresher.ts';
import { Icon } from './icon.tsx';

interface Props {
  id: string;
  title: string;
  /** Beside the title. */
  tools?: ComponentChildren;
  children: ComponentChildren;
  class?: string;
}

export function Section({ id, title, tools, children, class: name = '' }: Props) {
  return (
    <section id={id} class={`card ${name}`} aria-labelledby={`${id}-title`} tabIndex={-1}>
      <div class="card-head">
        <h2 id={`${id}-title`}>{title}</h2>
        {tools}
      </div>
      {children}
    </section>
  );
}

/** Says that what is shown may be old, and why. */
export function LoadFault({ of, what }: { of: Refresher; what: string }) {
  const fault = of.fault.value;
  return fault === null ? null : (
    <Fault text={`${what} could not be read: ${fault}`} onRetry={() => of.touch()} />
  );
}

export function Fault({ text, onRetry }: { text: string; onRetry?: () => void }) {
  return (
    <p class="fault" role="alert">
      <Icon name="warning" />
      <span>{text}</span>
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </p>
  );
}
