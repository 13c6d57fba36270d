import type { ChartView } from '../../model/statecharts/chart-view.ts';
import { labelOf, shortId } from '../../model/statecharts/reading.ts';
import type { MachineView } from '../../model/statecharts/statecharts.ts';
import { count } from '../../text/format.ts';
import { Scroller } from '../parts/scroller.tsx';

/** The picture in words: every state, how many are in it, and the arrows that leave it. */
export function ChartInWords({
  machine: { name, chart, counts },
  state: current,
  view,
}: {
  machine: MachineView;
  state: string | null;
  view: ChartView;
}) {
  return (
    <details class="chart-words">
      <summary>States and arrows as a list</summary>
      <Scroller label={`States of the ${name}`} class="table-frame">
        <table>
          <caption class="off-screen">States of the {name}, how many are in each, and what leaves it</caption>
          <thead>
            <tr>
              <th scope="col">State</th>
              <th scope="col" class="right">
                Now
              </th>
              <th scope="col">Arrows</th>
            </tr>
          </thead>
          <tbody>
            {chart.states.map(({ id, type, initial, invokes, entry, exit }) => (
              <tr key={id} data-row={id}>
                <th scope="row">
                  <button
                    type="button"
                    class="link"
                    aria-label={`Show ${shortId(id)} in the chart`}
                    onClick={() => view.choose({ state: id })}
                  >
                    <code>{shortId(id)}</code>
                  </button>
                  <span class="muted">
                    {initial && ' first'}
                    {type === 'final' && ' final'}
                    {type === 'parallel' && ' all within at once'}
                  </span>
                  {id === current && <b> the chosen one is here</b>}
                  {invokes.length > 0 && <div class="muted">runs {invokes.join(', ')}</div>}
                  {entry.length > 0 && <div class="muted">on entry {entry.join(', ')}</div>}
                  {exit.length > 0 && <div class="muted">on exit {exit.join(', ')}</div>}
                </th>
                <td class="right">{counts[id] === undefined ? '–' : count(counts[id])}</td>
                <td>
                  <ul>
                    {chart.arrows
                      .filter(({ from }) => from === id)
                      .map((arrow) => (
                        <li key={`${labelOf(arrow)} ${arrow.to}`}>
                          <code>{labelOf(arrow)}</code>{' '}
                          {arrow.to === id ? 'stays' : <>to {shortId(arrow.to)}</>}
                          {arrow.actions.length > 0 && (
                            <span class="muted"> does {arrow.actions.join(', ')}</span>
                          )}
                        </li>
                      ))}
                  </ul>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroller>
    </details>
  );
}
