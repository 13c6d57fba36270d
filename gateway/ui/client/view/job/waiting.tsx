import type { Waiting } from '../../../../../machines/schema/views.ts';
import { counted } from '../../text/format.ts';
import { reasonInWords, type WaitingGroup } from '../../text/waiting.ts';
import { useDashboard } from '../context.ts';
import { Icon } from '../parts/icon.tsx';

/** What several tasks wait for, said once for all of them; how many, where `all` of the job's are known. */
export function WaitingSummary({ groups, all }: { groups: readonly WaitingGroup[]; all: boolean }) {
  return (
    <ul class="waiting-groups">
      {groups.map(({ key, reasons, tasks }) => (
        <li key={key}>
          <WaitingFor of={reasons} who={all ? `${counted(tasks, 'task')} waiting:` : 'Waiting:'} />
        </li>
      ))}
    </ul>
  );
}

/** Why a queued task waits, or why several do, and `who`. */
export function WaitingFor({ of, who }: { of: readonly Waiting[]; who?: string }) {
  const { cluster } = useDashboard();
  const none = cluster.stats.value?.workers_alive === 0;
  // Where some only have to become free, what the others lack is no news.
  const isFull = ({ requirement }: Waiting) => requirement === 'slots';
  const first = of.filter(isFull);
  const others = of.filter((reason) => !isFull(reason));
  return (
    <span class="waiting">
      <Icon name="clock" />
      {who && <b>{who}</b>}
      {of.length === 0 && (none ? 'No worker is alive.' : 'Until it is their turn.')}
      {[...first, ...others].map(({ requirement, workers_missing }) => (
        <span key={requirement} class={first.length > 0 && requirement !== 'slots' ? 'muted' : ''}>
          {reasonInWords(requirement, workers_missing) ?? (
            <>
              Needs <bdi class="chip">{requirement}</bdi>, which {counted(workers_missing, 'live worker')}{' '}
              {workers_missing === 1 ? 'lacks' : 'lack'}.
            </>
          )}
        </span>
      ))}
    </span>
  );
}
