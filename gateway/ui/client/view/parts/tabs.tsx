import type { ComponentChildren, TargetedKeyboardEvent } from 'preact';
import { useId } from 'preact/hooks';

export interface TabItem<T extends string> {
  name: T;
  label: string;
  /** Shown beside the label; undefined: nothing to count. */
  count?: string | undefined;
}

interface Props<T extends string> {
  label: string;
  items: readonly TabItem<T>[];
  chosen: T;
  onChoose: (name: T) => void;
  children: ComponentChildren;
}

const STEPS: Readonly<Record<string, number>> = {
  ArrowRight: 1,
  ArrowLeft: -1,
  Home: -Infinity,
  End: Infinity,
};

/** Tabs as the ARIA practices have them: one stop for the tabulator key, arrows move between them. */
export function Tabs<T extends string>({ label, items, chosen, onChoose, children }: Props<T>) {
  const id = useId();
  const onKeyDown = (event: TargetedKeyboardEvent<HTMLDivElement>) => {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const from = items.findIndex(({ name }) => name === chosen);
    const wrapped = Number.isFinite(step)
      ? (from + step + items.length) % items.length
      : step > 0
        ? items.length - 1
        : 0;
    const next = items[wrapped];
    if (!next) return;
    onChoose(next.name);
    event.currentTarget.querySelector<HTMLElement>(`[data-tab="${next.name}"]`)?.focus();
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label={label} onKeyDown={onKeyDown}>
        {items.map(({ name, label, count }) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-${name}`}
            data-tab={name}
            aria-selected={name === chosen}
            aria-controls={`${id}-panel`}
            tabIndex={name === chosen ? 0 : -1}
            onClick={() => onChoose(name)}
          >
            {label}
            {count !== undefined && <span class="count">{count}</span>}
          </button>
        ))}
      </div>
      <div role="tabpanel" id={`${id}-panel`} aria-labelledby={`${id}-${chosen}`} class="tab-panel">
        {children}
      </div>
    </>
  );
}
