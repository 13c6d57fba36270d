import { useState } from 'preact/hooks';
import { shortId } from '../../model/statecharts/reading.ts';
import { examplesFor } from '../../model/statecharts/replay/examples.ts';
import { changesBetween } from '../../model/statecharts/replay/steps.ts';
import type { Outcome, WhatIf } from '../../model/statecharts/replay/what-if.ts';
import { useDashboard } from '../context.ts';
import { ContextTable } from './knows.tsx';

/** Events for a copy of the actor, and where its real machine goes with them. */
export function WhatIfPanel({ copy, onEnd }: { copy: WhatIf; onEnd: () => void }) {
  const { ticker } = useDashboard();
  const [chosen, setChosen] = useState<{ type: string; text: string } | null>(null);
  const { kind, outcomes, fault, state, snapshot } = copy;
  const examples = examplesFor(kind, snapshot.value.context, Math.round(ticker.now.peek()));
  const last = outcomes.value.at(-1);
  return (
    <section class="chart-what-if" aria-label="What if">
      <p>
        <b>What if:</b> a copy of the {kind} in this page is in{' '}
        <b class="chart-would">{shortId(state.value)}</b>. The machine's own code moves it; the server hears
        nothing of it.
      </p>
      <ul class="chart-events" aria-label="Events">
        {examples.map((event) => {
          const { type, ...members } = event;
          const outcome = copy.preview(event);
          return (
            <li key={type}>
              <button
                type="button"
                class={outcome?.taken ? '' : 'is-ignored'}
                aria-pressed={chosen?.type === type}
                onClick={() => setChosen({ type, text: JSON.stringify(members, null, 1) })}
              >
                {type} <span class="muted">{whither(outcome)}</span>
              </button>
            </li>
          );
        })}
      </ul>
      {chosen && (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            copy.send(chosen.type, chosen.text);
          }}
        >
          <label>
            {chosen.type} with
            <textarea
              rows={Math.min(10, chosen.text.split('\n').length)}
              spellcheck={false}
              value={chosen.text}
              onInput={(event) => setChosen({ ...chosen, text: event.currentTarget.value })}
            />
          </label>
          <button type="submit" class="primary">
            Send to the copy
          </button>
        </form>
      )}
      <div class="chart-shows">
        <button type="button" disabled={!last} onClick={() => copy.undo()}>
          Undo
        </button>
        <button type="button" onClick={onEnd}>
          End the copy
        </button>
      </div>
      <div role="status">
        {fault.value !== null && <p class="fault">{fault.value}</p>}
        {last && <Came of={last} />}
      </div>
      <ContextTable
        context={snapshot.value.context}
        before={last?.before.context ?? null}
        changed={last ? changesBetween(last.before.context, last.after.context) : []}
        label="Context of the copy"
      />
    </section>
  );
}

function whither(outcome: Outcome | null): string {
  if (!outcome) return 'needs more';
  if (!outcome.taken) return 'is not taken';
  return outcome.from === outcome.to ? 'stays' : `→ ${shortId(outcome.to)}`;
}

function Came({ of: { sent, taken, from, to, emitted } }: { of: Outcome }) {
  if (!taken) return <p>{`${sent.type} is not taken in ${shortId(from)}: nothing changed.`}</p>;
  const said = emitted.map(({ type }) => type).join(', ');
  return (
    <p>
      {sent.type}: {from === to ? `stays in ${shortId(to)}` : `${shortId(from)} → ${shortId(to)}`}
      {said !== '' && `, and says ${said}`}
    </p>
  );
}
