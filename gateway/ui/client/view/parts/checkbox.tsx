import type { Signal } from '@preact/signals';

/** A switch with its words. */
export function Checkbox({ label, of }: { label: string; of: Signal<boolean> }) {
  return (
    <label>
      <input
        type="checkbox"
        checked={of.value}
        onChange={(event) => {
          of.value = event.currentTarget.checked;
        }}
      />{' '}
      {label}
    </label>
  );
}
