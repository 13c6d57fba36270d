import { letter } from '../../../../../machines/results/compare.ts';
import type { Difference } from '../../../../../machines/results/spec-diff.ts';
import { useMore } from '../parts/more.tsx';

/** What is not the same in all of the jobs, as it was written. */
export function Differences({ of }: { of: readonly Difference[] }) {
  const { shown, more } = useMore(of.length);
  return (
    <>
      <h3>What differs</h3>
      {of.length === 0 && (
        <p class="muted">Nothing differs in pipelines, data, parameters and library versions.</p>
      )}
      <dl class="differences">
        {of.slice(0, shown).map(({ what, values }) => (
          <div key={what}>
            <dt>
              <bdi>{what}</bdi>
            </dt>
            {values.map((value, i) => (
              <dd key={i}>
                <b>{letter(i)}</b> {value === null ? <i class="muted">not there</i> : <code>{value}</code>}
              </dd>
            ))}
          </div>
        ))}
      </dl>
      {more}
    </>
  );
}
