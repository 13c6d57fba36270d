import { count } from '../../text/format.ts';

interface Props<T extends string> {
  /** What is chosen, for screen readers. */
  label: string;
  options: readonly Option<T>[];
  chosen: T;
  onChoose: (value: T) => void;
  small?: boolean;
}

interface Option<T> {
  value: T;
  label: string;
  /** Undefined: not counted. */
  count?: number | undefined;
}

/** One of a few, all in sight. */
export function Choices<T extends string>({ label, options, chosen, onChoose, small = false }: Props<T>) {
  return (
    <fieldset class={small ? 'choices small' : 'choices'}>
      <legend class="off-screen">{label}</legend>
      {options.map((option) => (
        <button
          key={option.value}
          type="button"
          aria-pressed={chosen === option.value}
          onClick={() => onChoose(option.value)}
        >
          {option.label}
          {option.count !== undefined && <span class="count">{count(option.count)}</span>}
        </button>
      ))}
    </fieldset>
  );
}
