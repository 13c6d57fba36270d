import { useSignal } from '@preact/signals';
import type { WorkerView } from '../../../../machines/schema/views.ts';
import { conditionOf } from '../../../../machines/worker/condition.ts';
import { count, counted } from '../text/format.ts';
import { useDashboard } from './context.ts';
import { Id } from './parts/copy.tsx';
import { Icon } from './parts/icon.tsx';
import { useMore } from './parts/more.tsx';
import { Scroller } from './parts/scroller.tsx';
import { LoadFault, Section } from './parts/section.tsx';
import { Status } from './parts/status.tsx';
import { Ago } from './parts/time.tsx';
import { ShowInStatechart } from './statecharts/link.tsx';

export function Workers() {
  const { cluster } = useDashboard();
  const sought = useSignal('');
  const workers = cluster.workers.value;
  const found = sortedWorkers((workers ?? []).filter((worker) => matches(worker, sought.value)));
  const { shown, more } = useMore(found.length);
  const tools = (
    <>
      {workers && <Summary workers={workers} />}
      <label class="search">
        <Icon name="search" />
        <input
          type="search"
          aria-label="Filter workers by name, label or status"
          placeholder="filter"
          value={sought.value}
          onInput={(event) => {
            sought.value = event.currentTarget.value;
          }}
        />
      </label>
    </>
  );
  return (
    <Section id="workers" title="Workers" tools={tools} class="workers-card">
      <LoadFault of={cluster.workersRefresher} what="The workers" />
      {found.length > 0 && <WorkerTable workers={found.slice(0, shown)} />}
      {workers && found.length === 0 && <p class="empty">{nothing(workers.length)}</p>}
      {more}
    </Section>
  );
}

const nothing = (known: number): string =>
  known > 0
    ? 'No worker matches.'
    : `No worker has registered yet. Start one with: jq-worker --server ${new URL('.', location.href).href.replace(/(\/ui)?\/+$/, '')}`;

/** How many there are of each kind, and the slots of those who work. */
function Summary({ workers }: { workers: readonly WorkerView[] }) {
  const alive = workers.filter(({ status }) => status === 'alive');
  const used = alive.reduce((sum, { slots_used }) => sum + slots_used, 0);
  const total = alive.reduce((sum, { slots_total }) => sum + slots_total, 0);
  return <span class="muted">{`${count(used)} of ${counted(total, 'slot')} busy`}</span>;
}

function matches(worker: WorkerView, sought: string): boolean {
  const words = sought.toLowerCase().split(/\s+/).filter(Boolean);
  const { id, name, status, labels } = worker;
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const text = [id, name, status, conditionOf(worker), ...pairs].join('\n').toLowerCase();
  return words.every((word) => text.includes(word));
}

/** The living first, then by name. */
function sortedWorkers(workers: WorkerView[]): WorkerView[] {
  const place = (worker: WorkerView) => (worker.status === 'alive' ? 0 : 1);
  const name = (worker: WorkerView) => worker.name ?? worker.id;
  return workers.sort(
    (a, b) => place(a) - place(b) || name(a).localeCompare(name(b), 'en', { numeric: true }),
  );
}

function WorkerTable({ workers }: { workers: readonly WorkerView[] }) {
  return (
    <Scroller label="Table of workers" class="table-frame">
      <table class="workers">
        <caption class="off-screen">Workers</caption>
        <thead>
          <tr>
            <th scope="col">Status</th>
            <th scope="col">Worker</th>
            <th scope="col">Slots</th>
            <th scope="col">Labels</th>
            <th scope="col">Version</th>
            <th scope="col">Platform</th>
            <th scope="col">Seen</th>
          </tr>
        </thead>
        <tbody>
          {workers.map((worker) => (
            <WorkerRow key={worker.id} worker={worker} />
          ))}
        </tbody>
      </table>
    </Scroller>
  );
}

function WorkerRow({ worker }: { worker: WorkerView }) {
  const { id, name, status, slots_used, slots_total, labels, last_seen_at, suspended, drained } = worker;
  const condition = conditionOf(worker);
  return (
    <tr class={status === 'dead' ? 'faded' : ''}>
      <td class="is-status">
        <Status of={condition} />
      </td>
      <th scope="row">
        <bdi class={name ? 'name' : 'name muted'} title={name ?? undefined}>
          {name ?? 'unnamed'}
        </bdi>
        <Id id={id} what="worker" />
        <ShowInStatechart about={{ kind: 'worker', id, jobId: '' }} name={name ?? id} bare />
        {condition === 'suspended' && (
          <span class="flag suspended">
            <bdi>{suspended}</bdi>
          </span>
        )}
        {drained && (
          <span class="flag suspended">
            drained by <bdi>{drained.by}</bdi>
          </span>
        )}
      </th>
      <td class="is-slots">
        <Slots used={slots_used} total={slots_total} />
      </td>
      <td class="is-labels">
        <span class="chips">
          {Object.entries(labels).map(([key, value]) => (
            <bdi key={key} class="chip">
              {key}={value}
            </bdi>
          ))}
        </span>
      </td>
      <td class="is-version">
        <Version of={worker} />
      </td>
      <td class="is-platform muted">
        <Platform of={worker} />
      </td>
      <td class="is-seen">
        <Ago ts={last_seen_at} />
      </td>
    </tr>
  );
}

/** One box a slot while they can be counted at a glance. */
function Slots({ used, total }: { used: number; total: number }) {
  const words = `${count(used)} of ${counted(total, 'slot')} busy`;
  return (
    <span class="slots" title={words}>
      {total <= 8 && (
        <svg viewBox={`0 0 ${total * 8} 8`} width={total * 8} height="8" role="img" aria-label={words}>
          {Array.from({ length: total }, (_, i) => (
            <rect
              key={i}
              x={i * 8}
              y="0.5"
              width="6"
              height="7"
              rx="1.5"
              class={i < used ? 'fill-running' : 'fill-free'}
            />
          ))}
        </svg>
      )}
      <span>
        {count(used)}/{count(total)}
      </span>
    </span>
  );
}

function Version({ of: { cluster_version, version_divergent } }: { of: WorkerView }) {
  const { cluster } = useDashboard();
  const server = cluster.stats.value?.server_version;
  return (
    <span class="version-cell">
      <bdi>{cluster_version ?? '–'}</bdi>
      {version_divergent && (
        <span class="flag" title={server ? `The server has ${server}` : undefined}>
          <Icon name="warning" /> differs
        </span>
      )}
    </span>
  );
}

function Platform({ of: { version, capabilities } }: { of: WorkerView }) {
  const packages = Object.entries(version.packages ?? {}).map(([name, number]) => `${name} ${number}`);
  const facts = [
    version.platform,
    version.python && `python ${version.python}`,
    version.node && `node ${version.node}`,
    typeof capabilities.memory_gb === 'number' && `${Math.round(capabilities.memory_gb)} GiB`,
    typeof capabilities.gpu_count === 'number' &&
      capabilities.gpu_count > 0 &&
      counted(capabilities.gpu_count, 'GPU'),
  ].filter(Boolean);
  return (
    <span title={packages.join(', ') || undefined}>
      <bdi>{facts.join(' · ') || '–'}</bdi>
    </span>
  );
}
