import type { ServersView, ServerView } from '../../../../machines/schema/servers.ts';
import { counted } from '../text/format.ts';
import { useDashboard } from './context.ts';
import { LoadFault } from './parts/section.tsx';
import { Ago } from './parts/time.tsx';

/** Which server leads and how far the others are, where there are others. */
export function Servers() {
  const { cluster } = useDashboard();
  const view = cluster.servers.value;
  return (
    <>
      <LoadFault of={cluster.serversRefresher} what="The servers" />
      {view && view.servers.length > 1 && (
        <ul class="servers" aria-label="Servers">
          {view.servers.map((server) => (
            <li key={server.id} class={server.status === 'silent' ? 'tone-failed' : 'muted'}>
              <Server of={server} view={view} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Server({ of, view }: { of: ServerView; view: ServersView }) {
  const { address, place, status, since, epoch, version, last_seen_at, event_id, differs } = of;
  const behind = Math.max(0, view.last_event_id - event_id);
  return (
    <>
      <bdi title={`${place}, version ${version}`}>{address ?? place}</bdi>{' '}
      {status === 'silent' ? (
        <>
          is silent, last seen <Ago ts={last_seen_at} />
        </>
      ) : status === 'leading' ? (
        <>
          leads since <Ago ts={since} />, epoch {epoch}
        </>
      ) : (
        <>
          stands by since <Ago ts={since} />, {counted(behind, 'event')} behind
          {differs.length > 0 && `, told otherwise: ${differs.join(', ')}`}
        </>
      )}
    </>
  );
}
