import { useComputed } from '@preact/signals';
import { FEED_FILTERS, type FeedFilter } from '../model/live-feed.ts';
import { count } from '../text/format.ts';
import { useDashboard } from './context.ts';
import { EventRow } from './event-row.tsx';
import { Icon } from './parts/icon.tsx';
import { Scroller } from './parts/scroller.tsx';
import { Section } from './parts/section.tsx';

const WORDS: Readonly<Record<FeedFilter, string>> = {
  all: 'All events',
  moves: 'No logs',
  problems: 'Problems',
};

/** What happens, newest first. */
export function Feed() {
  const { feed } = useDashboard();
  const tools = (
    <>
      <FeedCount />
      <span class="grow" />
      <select
        aria-label="Which events"
        value={feed.filter.value}
        onChange={(event) => {
          feed.filter.value = event.currentTarget.value as FeedFilter;
        }}
      >
        {FEED_FILTERS.map((filter) => (
          <option key={filter} value={filter}>
            {WORDS[filter]}
          </option>
        ))}
      </select>
      <PauseButton />
    </>
  );
  return (
    <Section id="feed" title="Live feed" tools={tools} class="feed">
      <FeedList />
    </Section>
  );
}

function FeedList() {
  const { feed } = useDashboard();
  const rows = feed.rows.value;
  return (
    <Scroller label="Live feed" class="feed-frame" log>
      {rows.length === 0 && <p class="empty">Nothing has happened yet.</p>}
      <ol class="events">
        {rows.map((event) => (
          <EventRow key={event.id} event={event} />
        ))}
      </ol>
    </Scroller>
  );
}

function FeedCount() {
  const { feed } = useDashboard();
  const text = useComputed(() =>
    feed.paused.value ? `paused, ${count(feed.held.value)} new` : `${count(feed.total.value)} seen`,
  );
  return <span class="muted">{text}</span>;
}

function PauseButton() {
  const { feed } = useDashboard();
  const paused = feed.paused.value;
  return (
    <button type="button" class={paused ? 'primary' : ''} onClick={() => feed.togglePause()}>
      <Icon name={paused ? 'play' : 'pause'} />
      {paused ? 'Resume' : 'Pause'}
    </button>
  );
}
