import type { ChartArrow, ChartState } from '../../../../../machines/charts/graph.ts';
import type { ChartView, Chosen } from '../../model/statecharts/chart-view.ts';
import { isAround, shortId } from '../../model/statecharts/reading.ts';
import type { MachineView } from '../../model/statecharts/statecharts.ts';
import { count } from '../../text/format.ts';

/** What was pointed at, with all that the machine knows of it: guards, actions, what runs. */
export function Details({ machine, view }: { machine: MachineView; view: ChartView }) {
  const chosen = view.chosen.value;
  if (!chosen) {
    return (
      <p class="chart-details muted">
        Press a state or an arrow, or look for it, to read its guards and actions.
      </p>
    );
  }
  return (
    <section class="chart-details" aria-label="Guards and actions">
      <p class="chart-details-title">
        <b>{titleOf(chosen)}</b>
        <button
          type="button"
          class="bare"
          aria-label="Close the details"
          onClick={() => {
            view.chosen.value = null;
          }}
        >
          ✕
        </button>
      </p>
      {'state' in chosen ? (
        <StateDetails machine={machine} id={chosen.state} />
      ) : (
        <Arrows
          arrows={machine.chart.arrows.filter((arrow) => isPartOf(chosen, arrow, view))}
          of={chosen.from}
        />
      )}
    </section>
  );
}

const titleOf = (chosen: Chosen): string =>
  'state' in chosen ? shortId(chosen.state) : `${shortId(chosen.from)} → ${shortId(chosen.to)}`;

/** A closed state stands for those in it. */
function isPartOf({ from, to }: { from: string; to: string }, arrow: ChartArrow, view: ChartView): boolean {
  const closed = view.collapsed.value;
  const stands = (outer: string, id: string) =>
    id === outer || (closed.includes(outer) && isAround(outer, id));
  return arrow.from !== arrow.to && stands(from, arrow.from) && stands(to, arrow.to);
}

function StateDetails({ machine: { chart, counts }, id }: { machine: MachineView; id: string }) {
  const state = chart.states.find((one) => one.id === id);
  if (!state) return null;
  const now = counts[id];
  return (
    <>
      <p class="muted">
        {KINDS[state.type]}
        {state.initial && ', the first of the one around it'}
        {now !== undefined && `, ${count(now)} in it now`}
      </p>
      <dl class="chart-facts">
        <Fact name="runs" names={state.invokes} />
        <Fact name="on entry" names={state.entry} />
        <Fact name="on exit" names={state.exit} />
      </dl>
      <Arrows arrows={chart.arrows.filter(({ from }) => from === id)} of={id} />
    </>
  );
}

const KINDS: Readonly<Record<ChartState['type'], string>> = {
  atomic: 'a state',
  compound: 'a state with others in it, one at a time',
  parallel: 'a state with others in it, all at once',
  final: 'a final state',
  history: 'where it was before',
};

function Fact({ name, names }: { name: string; names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <code>{names.join(', ')}</code>
      </dd>
    </>
  );
}

/** In the order in which a machine tries them. */
function Arrows({ arrows, of }: { arrows: readonly ChartArrow[]; of: string }) {
  if (arrows.length === 0) return <p class="muted">Nothing leads out of it.</p>;
  return (
    <ol class="chart-arrows">
      {arrows.map(({ from, to, event, guard, actions }, i) => (
        <li key={i}>
          <b>
            <code>{event}</code>
          </b>{' '}
          <span class="muted">
            {from !== of && `in ${shortId(from)}, `}
            {to === from ? 'stays' : `to ${shortId(to)}`}
          </span>
          {guard !== null && (
            <div>
              if <code>{guard}</code>
            </div>
          )}
          {actions.length > 0 && (
            <div>
              does <code>{actions.join(', ')}</code>
            </div>
          )}
        </li>
      ))}
    </ol>
  );
}
