import { useEffect, useMemo } from 'preact/hooks';
import { chooseMetric, commonMetrics, letter, sideBySide } from '../../../../../machines/results/compare.ts';
import { csvLine } from '../../../../../machines/results/csv.ts';
import { differencesOf } from '../../../../../machines/results/spec-diff.ts';
import { save } from '../../api/download.ts';
import { Comparison, idsIn } from '../../model/comparison.ts';
import { useDashboard } from '../context.ts';
import { Choices } from '../parts/choices.tsx';
import { Icon } from '../parts/icon.tsx';
import { Fault, Section } from '../parts/section.tsx';
import { Differences } from './differences.tsx';
import { BestOverTime } from './over-time.tsx';
import { SideBySide } from './side-by-side.tsx';

/** Several jobs side by side: the best of each, their rankings by one metric, and what differs. */
export function Compare() {
  const { api, address } = useDashboard();
  const { compare } = address.place.value;
  const ids = idsIn(compare);
  const comparison = useMemo(() => new Comparison(api, ids), [compare]);
  useEffect(() => {
    if (ids.length > 1) void comparison.load();
    return () => comparison.stop();
  }, [comparison]);
  const fault = comparison.fault.value;
  return (
    <Section
      id="compare"
      title="Compared jobs"
      class="compare-card"
      tools={
        <button type="button" onClick={() => address.go({ view: '' })}>
          Choose others
        </button>
      }
    >
      {fault !== null && (
        <Fault text={`The jobs could not be read: ${fault}`} onRetry={() => void comparison.load()} />
      )}
      {ids.length < 2 ? (
        <p class="empty">Choose at least two jobs in the list.</p>
      ) : comparison.jobs.value === null ? (
        fault === null && <p class="empty">Loading…</p>
      ) : (
        <Compared of={comparison} />
      )}
    </Section>
  );
}

function Compared({ of: { jobs: read, contents } }: { of: Comparison }) {
  const { address } = useDashboard();
  const jobs = read.value ?? [];
  const metrics = useMemo(() => commonMetrics(jobs), [jobs]);
  const wanted = metrics.find((one) => one === address.place.value.metric);
  const choice = useMemo(() => chooseMetric(jobs, metrics, wanted), [jobs, metrics, wanted]);
  const { metric, mode, isAlike, warning } = choice;
  const rows = useMemo(() => (metric === undefined ? [] : sideBySide(jobs, metric)), [jobs, metric]);
  const differences = useMemo(() => differencesOf(jobs, contents.value), [jobs, contents.value]);
  const saveCsv = () => {
    const head = ['pipeline', 'dataset', ...jobs.map(({ job }, i) => `${letter(i)} ${job.id}`)];
    const lines = rows.map(({ pipeline, dataset, values }) => csvLine([pipeline, dataset, ...values]));
    save(new Blob([csvLine(head), ...lines], { type: 'text/csv' }), `compared-by-${metric}.csv`);
  };
  return (
    <>
      {metric === undefined ? (
        <p class="muted">No metric is reported by all of them, so that no ranking is set side by side.</p>
      ) : (
        <div class="compare-tools">
          <Choices
            label="Metric"
            options={metrics.slice(0, 12).map((value) => ({ value, label: value }))}
            chosen={metric}
            onChoose={(value) => address.go({ metric: value }, 'replace')}
            small
          />
          {isAlike && <span class="muted">{mode === 'min' ? 'smallest' : 'largest'} is best</span>}
          <button type="button" onClick={saveCsv} aria-label="Save the table as CSV">
            <Icon name="download" /> CSV
          </button>
        </div>
      )}
      {warning !== null && <p class="warning">{warning}</p>}
      <BestOverTime jobs={jobs} choice={choice} />
      {metric !== undefined && <SideBySide {...{ jobs, rows, metric, mode, isAlike }} />}
      <Differences of={differences} />
    </>
  );
}
