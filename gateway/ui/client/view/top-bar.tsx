import { useComputed } from '@preact/signals';
import { useState } from 'preact/hooks';
import type { LinkState } from '../api/link.ts';
import { AccessDialog } from './access.tsx';
import { useDashboard } from './context.ts';
import { Icon } from './parts/icon.tsx';

export function TopBar({ serviceName }: { serviceName: string }) {
  const { readable, cluster, address } = useDashboard();
  const charts = address.place.value.view === 'statecharts';
  const version = cluster.stats.value?.server_version;
  return (
    <header class="top-bar">
      <a class="skip" href={charts ? '#statecharts' : '#jobs'}>
        Skip to the {charts ? 'statecharts' : 'jobs'}
      </a>
      <span class="brand">
        <svg viewBox="0 0 16 16" aria-hidden="true" focusable="false">
          <rect width="16" height="16" rx="3.5" />
          <path d="M4 5h8M4 8h5M4 11h7" />
        </svg>
        <bdi>{serviceName}</bdi>
        {version && <span class="muted version">{version}</span>}
      </span>
      {readable.value && (
        <nav aria-label="Sections">
          <SectionLink to="jobs" label="Jobs" />
          <SectionLink to="workers" label="Workers" />
          <SectionLink to="feed" label="Feed" />
          <a
            href="?view=statecharts"
            aria-current={charts ? 'page' : undefined}
            onClick={(event) => turn(event, () => address.go({ view: 'statecharts' }))}
          >
            Statecharts
          </a>
        </nav>
      )}
      <span class="grow" />
      <Connection />
      <ThemeButton />
      <AccessButton />
    </header>
  );
}

/** A section of the overview, from whichever view one comes. */
function SectionLink({ to, label }: { to: string; label: string }) {
  const { address } = useDashboard();
  if (address.place.value.view === '') return <a href={`#${to}`}>{label}</a>;
  const go = () => {
    address.go({ view: '' });
    requestAnimationFrame(() => {
      const section = document.getElementById(to);
      section?.scrollIntoView();
      section?.focus({ preventScroll: true });
    });
  };
  return (
    <a href={`?#${to}`} onClick={(event) => turn(event, go)}>
      {label}
    </a>
  );
}

/** A plain click stays in the page; one with a key opens a tab, as links do. */
function turn(event: MouseEvent, go: () => void): void {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  go();
}

const WORDS: Readonly<Record<LinkState['is'], string>> = {
  connecting: 'Connecting',
  live: 'Live',
  waiting: 'Offline',
  refused: 'No access',
};

/** The state is read aloud when it changes; the countdown is not. */
function Connection() {
  const { link } = useDashboard();
  const state = link.state.value;
  return (
    <span class={`connection is-${state.is}`}>
      <span role="status" title={state.is === 'waiting' ? state.why : undefined}>
        <span class="dot" />
        {WORDS[state.is]}
      </span>
      {state.is === 'waiting' && <Countdown until={state.until} />}
    </span>
  );
}

function Countdown({ until }: { until: number }) {
  const { link, ticker } = useDashboard();
  const left = useComputed(() => {
    // Read so that it is looked at again every second.
    ticker.now.value;
    const seconds = Math.ceil((until - Date.now()) / 1000);
    return seconds > 0 ? `next try in ${seconds} s` : 'trying';
  });
  return (
    <>
      <span class="muted countdown">{left}</span>
      <button
        type="button"
        class="bare"
        title="Try now"
        aria-label="Connect now"
        onClick={() => link.retry()}
      >
        <Icon name="retry" />
      </button>
    </>
  );
}

const NEXT = { auto: 'sun', light: 'moon', dark: 'auto' } as const;
const ICONS = { auto: 'auto', light: 'sun', dark: 'moon' } as const;
const NAMES = { auto: 'as the system', light: 'light', dark: 'dark' } as const;

function ThemeButton() {
  const { theme } = useDashboard();
  const name = theme.name.value;
  const label = `Colours: ${NAMES[name]}`;
  return (
    <button
      type="button"
      class="bare"
      title={label}
      aria-label={label}
      data-next={NEXT[name]}
      onClick={() => theme.next()}
    >
      <Icon name={ICONS[name]} />
    </button>
  );
}

function AccessButton() {
  const { session } = useDashboard();
  const [open, setOpen] = useState(false);
  return (
    <>
      <button type="button" class="quiet access" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        <Icon name="key" />
        <bdi>{session.me.value?.principal ?? 'Token'}</bdi>
      </button>
      {open && <AccessDialog onClose={() => setOpen(false)} />}
    </>
  );
}
