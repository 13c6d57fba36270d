import { useEffect, useRef, useState } from 'preact/hooks';
import { FILTERS, filtersSet } from '../../model/job-filters.ts';
import { useDashboard } from '../context.ts';
import { Icon } from '../parts/icon.tsx';
import { FIRST_PAGE, TYPING_MS } from './filters.tsx';

const LABELS = {
  owner: { label: 'Owner', placeholder: 'a name, or me' },
  kind: { label: 'Type or library', placeholder: 'mljs, nirs4all.run' },
  does: { label: 'Kind', placeholder: '' },
  tag: { label: 'Tag', placeholder: 'corn, paper' },
  since: { label: 'From', placeholder: '' },
  until: { label: 'To', placeholder: '' },
} as const;
const NONE = Object.fromEntries(FILTERS.map((name) => [name, ''])) as Record<(typeof FILTERS)[number], ''>;

/** Whose jobs, of which type, with which tags, and of which days: all of it is in the address. */
export function MoreFilters() {
  const { address } = useDashboard();
  const set = filtersSet(address.place.value);
  // Who came by a link that filters sees by what; later it is the reader's.
  const [open] = useState(set > 0);
  return (
    <details class="filters" open={open}>
      <summary>Owner, type, kind, tag, time{set > 0 && <span class="count">{set} set</span>}</summary>
      <div class="fields">
        {FILTERS.map((name) => (
          <Field key={name} name={name} />
        ))}
        {set > 0 && (
          <button type="button" onClick={() => address.go({ ...NONE, ...FIRST_PAGE })}>
            <Icon name="cross" /> Clear
          </button>
        )}
      </div>
    </details>
  );
}

function Field({ name }: { name: (typeof FILTERS)[number] }) {
  const { address } = useDashboard();
  const value = address.place.value[name];
  const field = useRef<HTMLInputElement & HTMLSelectElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => {
    // The address changed by itself (Back, a link, a tag that was pressed); what is being typed stays.
    if (field.current && document.activeElement !== field.current) field.current.value = value;
  }, [value]);
  const typed = () => {
    clearTimeout(timer.current);
    timer.current = setTimeout(
      () => address.go({ [name]: field.current?.value ?? '', ...FIRST_PAGE }, 'replace'),
      TYPING_MS,
    );
  };
  const { label, placeholder } = LABELS[name];
  const id = `filter-${name}`;
  const input = { id, ref: field, defaultValue: value, onInput: typed };
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {name === 'does' ? (
        <select {...input}>
          <option value="">all</option>
          <option value="run">runs</option>
          <option value="predict">predictions</option>
        </select>
      ) : name === 'since' || name === 'until' ? (
        <input type="date" {...input} />
      ) : (
        <input type="search" placeholder={placeholder} autocapitalize="none" spellcheck={false} {...input} />
      )}
    </div>
  );
}
