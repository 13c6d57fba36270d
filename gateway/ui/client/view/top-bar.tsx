import { useState } from 'preact/hooks';
import type { LinkState } from '../api/link.ts';
import type { Place } from '../model/address.ts';
import { AccessDialog } from './access.tsx';
import { useDashboard } from './context.ts';
import { Icon } from './parts/icon.tsx';

export function TopBar({ serviceName }: { serviceName: string }) {
  const { readable, cluster, address } = useDashboard();
  const { view } = address.place.value;
  const version = cluster.stats.value?.server_version;
  const main = view || 'jobs';
  return (
    <header class="top-bar">
      <a class="skip" href={`#${main}`}>
        Skip to the {main}
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
          <ViewLink to="" label="Jobs" />
          <ViewLink to="workers" label="Workers" />
          <ViewLink to="feed" label="Feed" />
          <ViewLink to="statecharts" label="Statecharts" />
        </nav>
      )}
      <span class="grow" />
      <Connection />
      <ThemeButton />
      <AccessButton />
    </header>
  );
}

/** Leads to a part of the page, whether it is in sight, further down, or in place of what is shown. */
function ViewLink({ to, label }: { to: Place['view']; label: string }) {
  const { address } = useDashboard();
  const go = () => {
    if (address.place.peek().view !== to) address.go({ view: to });
    requestAnimationFrame(() => {
      const section = document.getElementById(to || 'jobs');
      section?.scrollIntoView();
      section?.focus({ preventScroll: true });
    });
  };
  return (
    <a
      href={to === '' ? '?' : `?view=${to}`}
      aria-current={address.place.value.view === to ? 'page' : undefined}
      onClick={(event) => turn(event, go)}
    >
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

/** In a word; what an outage means for the page is said by a banner. */
function Connection() {
  const { link, freshness } = useDashboard();
  // A socket may take a while to notice what requests know already.
  const state = freshness.stale.value ? ({ is: 'waiting', why: '' } as const) : link.state.value;
  return (
    <span
      class={`connection is-${state.is}`}
      role="status"
      title={state.is === 'waiting' ? state.why : undefined}
    >
      <span class="dot" />
      {WORDS[state.is]}
    </span>
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
