import type { Actor } from '../../model/statecharts/actor.ts';
import { shortId } from '../../model/statecharts/reading.ts';
import { plainLog } from '../../text/log-text.ts';
import { useDashboard } from '../context.ts';
import { Id } from '../parts/copy.tsx';
import { Scroller } from '../parts/scroller.tsx';
import { Fault, LoadFault } from '../parts/section.tsx';
import { Clock } from '../parts/time.tsx';

/** Where the chosen actor is, and the events that led there, the newest first. */
export function ActorPath({ actor }: { actor: Actor }) {
  const { address } = useDashboard();
  const { about, tail, refresher, path, state, complete } = actor;
  const steps = [...path.value].reverse();
  return (
    <div class="chart-actor">
      <p class="chart-chosen">
        <span>
          The {about.kind} <Id id={about.id} what={about.kind} whole /> is{' '}
          <b class="chart-now">{state.value === null ? 'not known yet' : shortId(state.value)}</b>
        </span>
        <button type="button" onClick={() => address.go({ actor: '', of: '' })}>
          Choose none
        </button>
      </p>
      {refresher && <LoadFault of={refresher} what="The job" />}
      {tail.fault.value !== null && <Fault text={tail.fault.value} onRetry={() => void tail.earlier()} />}
      <Scroller label={`Path of the ${about.kind}`} class="chart-path">
        <ol>
          {steps.map(({ event, from, to }) => (
            <li key={event.id} data-step={event.type}>
              <Clock ts={event.ts} /> <b>{event.type}</b>{' '}
              <span class="muted">
                {from !== null && `${shortId(from)} `}→ <span class="chart-to">{shortId(to)}</span>
              </span>
              <bdi class="muted chart-said">{plainLog(event.message).slice(0, 300)}</bdi>
            </li>
          ))}
        </ol>
        {tail.loaded.value && steps.length === 0 && <p class="muted">No event has moved it yet.</p>}
        {!complete.value && tail.hasEarlier.value && (
          <button type="button" onClick={() => void tail.earlier()}>
            Read earlier events
          </button>
        )}
      </Scroller>
    </div>
  );
}
