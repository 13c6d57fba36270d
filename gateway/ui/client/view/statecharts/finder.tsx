import { useId, useState } from 'preact/hooks';
import { type Hit, search } from '../../model/statecharts/search.ts';
import type { Statecharts } from '../../model/statecharts/statecharts.ts';
import { counted } from '../../text/format.ts';
import { useDashboard } from '../context.ts';
import { Icon } from '../parts/icon.tsx';

/** Finds states, events, guards and actions in all charts. */
export function Finder({ of }: { of: Statecharts }) {
  const { address } = useDashboard();
  const id = useId();
  const [text, setText] = useState('');
  const machines = of.machines.value ?? [];
  const shown = of.shown.value?.name;
  if (!shown) return null;
  const hits = search(machines, shown, text);
  const go = ({ machine, chosen }: Hit) => {
    if (machine !== shown) address.go({ machine, actor: '', of: '' });
    of.viewOf(machine).choose(chosen);
    setText('');
  };
  return (
    <search class="chart-finder">
      <label for={id} class="off-screen">
        Find in the charts
      </label>
      <span class="chart-find">
        <Icon name="search" />
        <input
          id={id}
          type="search"
          placeholder="State, event, guard or action"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          onKeyDown={(event) => {
            const [first] = hits;
            if (event.key === 'Enter' && first) go(first);
            if (event.key === 'Escape') setText('');
          }}
        />
      </span>
      <output class="off-screen">{text.trim() !== '' && `${counted(hits.length, 'place')} found`}</output>
      {text.trim() !== '' && (
        <ul class="chart-hits">
          {hits.map((hit, i) => (
            <li key={i}>
              <button type="button" class="quiet" onClick={() => go(hit)}>
                <span class="muted">{hit.machine}</span> {hit.text}
                {hit.by !== '' && <span class="muted"> by {hit.by}</span>}
              </button>
            </li>
          ))}
          {hits.length === 0 && <li class="muted">Nothing of that name.</li>}
        </ul>
      )}
    </search>
  );
}
