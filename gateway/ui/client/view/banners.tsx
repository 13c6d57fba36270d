import { useComputed } from '@preact/signals';
import { ago, dateTime } from '../text/format.ts';
import { useDashboard } from './context.ts';
import { Icon } from './parts/icon.tsx';

/** What concerns the whole page, said once above it. */
export function Banners() {
  const { outdated, freshness } = useDashboard();
  return (
    <>
      {freshness.stale.value && <Offline />}
      {outdated.value && <Outdated />}
    </>
  );
}

/** The server is away: how old what is shown below is, and when it is asked again. */
function Offline() {
  const { link, freshness } = useDashboard();
  return (
    <div class="banner is-offline" role="alert">
      <Icon name="offline" />
      <p>
        <b>The server cannot be reached.</b> <LastHeard at={freshness.heardAt.value} />
      </p>
      <NextTry />
      <button type="button" onClick={() => link.retry()}>
        <Icon name="retry" /> Try now
      </button>
    </div>
  );
}

function LastHeard({ at }: { at: number | null }) {
  const { ticker } = useDashboard();
  // Of an alert every change is read aloud.
  const text = useComputed(() => ago(ticker.now.value - (at ?? 0)));
  if (at === null) return <>Nothing has been read yet.</>;
  return (
    <>
      What you see is of <time dateTime={new Date(at * 1000).toISOString()}>{dateTime(at)}</time>
      <span aria-hidden="true">, {text}</span>.
    </>
  );
}

function NextTry() {
  const { link, ticker } = useDashboard();
  const left = useComputed(() => {
    // Read so that it is looked at again every second.
    ticker.now.value;
    const state = link.state.value;
    const seconds = state.is === 'waiting' ? Math.ceil((state.until - Date.now()) / 1000) : 0;
    return seconds > 0 ? `next try in ${seconds} s` : 'trying…';
  });
  return (
    <span class="muted countdown" aria-hidden="true">
      {left}
    </span>
  );
}

function Outdated() {
  return (
    <div class="banner" role="status">
      <p>The server has another version now than when this page was loaded.</p>
      <button type="button" onClick={() => location.reload()}>
        Load it again
      </button>
    </div>
  );
}
