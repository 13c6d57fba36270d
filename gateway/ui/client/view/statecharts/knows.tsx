import type { Actor } from '../../model/statecharts/actor.ts';
import type { Context } from '../../model/statecharts/replay/act.ts';
import { changesBetween } from '../../model/statecharts/replay/steps.ts';
import { Scroller } from '../parts/scroller.tsx';

/** What the actor knows, or knew after the step that is looked at, and what that step changed. */
export function Knows({ actor }: { actor: Actor }) {
  const { step, steps, now, about, at } = actor;
  const looked = step.value ?? steps.value.at(-1) ?? null;
  const context = at.value === null ? (now.value?.context ?? null) : (step.value?.after ?? null);
  if (!context) return null;
  const before = looked?.before ?? null;
  return (
    <details class="chart-knows" open={matchMedia('(min-width: 861px)').matches}>
      <summary>
        What the {about.kind} {at.value === null ? 'knows' : 'knew after this step'}
      </summary>
      <ContextTable
        context={context}
        before={before}
        // Of what the step changed, what can be told: some of it may not be recorded.
        changed={changesBetween(before, looked?.after ?? null).filter((name) =>
          differs(before, context, name),
        )}
        label={`Context of the ${about.kind}`}
      />
      {at.value !== null && (
        <p class="muted">
          The machine has made this step again from the recorded events. What no event records is said to be
          not recorded.
        </p>
      )}
    </details>
  );
}

const differs = (before: Context | null, after: Context, name: string): boolean =>
  changesBetween(before, after).includes(name);

interface TableProps {
  context: Context;
  before: Context | null;
  changed: readonly string[];
  label: string;
}

export function ContextTable({ context, before, changed, label }: TableProps) {
  return (
    <Scroller label={label} class="chart-context">
      <table>
        <tbody>
          {Object.keys(context).map((name) => {
            const isChanged = changed.includes(name);
            return (
              <tr key={name} data-member={name} data-changed={isChanged}>
                <th scope="row">
                  <code>{name}</code>
                  {isChanged && <span class="off-screen"> changed</span>}
                </th>
                <td>
                  <Value of={context[name]} />
                  {isChanged && before && (
                    <span class="muted">
                      {' '}
                      was <Value of={before[name]} />
                    </span>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </Scroller>
  );
}

const LONGEST = 300;
const UNKNOWN = '\u0000';

/** JSON; what is not known of it says so. */
function Value({ of: value }: { of: unknown }) {
  if (value === undefined) return <span class="muted">not recorded</span>;
  const text = JSON.stringify(value, (_, one) => (one === undefined ? UNKNOWN : one)) ?? '';
  const said = text.replaceAll(JSON.stringify(UNKNOWN), 'not recorded');
  return <code>{said.length > LONGEST ? `${said.slice(0, LONGEST)}…` : said}</code>;
}
