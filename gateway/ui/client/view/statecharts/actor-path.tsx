import type { Actor } from '../../model/statecharts/actor.ts';
import { shortId } from '../../model/statecharts/reading.ts';
import type { Step } from '../../model/statecharts/replay/steps.ts';
import { clockTime } from '../../text/format.ts';
import { plainLog } from '../../text/log-text.ts';
import { useDashboard } from '../context.ts';
import { Id } from '../parts/copy.tsx';
import { Scroller } from '../parts/scroller.tsx';
import { Fault, LoadFault } from '../parts/section.tsx';
import { Clock } from '../parts/time.tsx';

/** Where the chosen actor is, the steps that led there, the newest first, and a way back and forth through them. */
export function ActorPath({ actor }: { actor: Actor }) {
  const { address } = useDashboard();
  const { about, tail, refresher, steps, state, complete, past, at } = actor;
  const all = steps.value;
  const { fault, why } = past.value;
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
      <LoadFault of={refresher} what={`The ${about.kind}`} />
      {tail.fault.value !== null && <Fault text={tail.fault.value} onRetry={() => void tail.earlier()} />}
      {all.length > 0 && <Stepper actor={actor} />}
      <Scroller label={`Path of the ${about.kind}`} class="chart-path">
        <ol>
          {all
            .map((step, i) => (
              <li
                key={i}
                data-step={step.event.type}
                aria-current={i === (at.value ?? all.length - 1) ? 'step' : undefined}
              >
                <button type="button" class="quiet" onClick={() => actor.goTo(i)}>
                  <Line step={step} />
                </button>
              </li>
            ))
            .reverse()}
        </ol>
        {complete.value && all.length === 0 && <p class="muted">No event has moved it yet.</p>}
        {!complete.value && tail.hasEarlier.value && (
          <button type="button" onClick={() => void tail.earlier()}>
            Read earlier events
          </button>
        )}
      </Scroller>
      {(why !== '' || fault) && (
        <p class="muted chart-unreplayed">
          What it knew then cannot be told.{' '}
          {why || `The event ${fault?.event.id}, ${fault?.event.type}, does not follow from those before it.`}
        </p>
      )}
    </div>
  );
}

function Line({ step: { event, sent, silent, from, to } }: { step: Step }) {
  return (
    <>
      <Clock ts={event.ts} /> <b>{sent?.type ?? event.type}</b>{' '}
      <span class="muted">
        {from === to ? 'stays in ' : from !== null && `${shortId(from)} → `}
        <span class="chart-to">{shortId(to)}</span>
        {silent && ', left no event: it came before this'}
      </span>
      <bdi class="muted chart-said">{plainLog(event.message).slice(0, 300)}</bdi>
    </>
  );
}

/** From step to step, by buttons and by the keys of a slider. */
function Stepper({ actor }: { actor: Actor }) {
  const { at, steps } = actor;
  const last = steps.value.length - 1;
  const shown = at.value ?? last;
  const step = steps.value[shown];
  if (!step) return null;
  const said = `${shown + 1} of ${last + 1}: ${step.sent?.type ?? step.event.type} at ${clockTime(step.event.ts)}, ${shortId(step.to)}`;
  return (
    <fieldset class="chart-stepper">
      <legend class="off-screen">Steps of its past</legend>
      <button type="button" aria-label="First step" disabled={shown === 0} onClick={() => actor.goTo(0)}>
        «
      </button>
      <button
        type="button"
        aria-label="Step back"
        disabled={shown === 0}
        onClick={() => actor.goTo(shown - 1)}
      >
        ‹
      </button>
      <input
        type="range"
        aria-label="Step"
        aria-valuetext={said}
        min="0"
        max={last}
        value={shown}
        onInput={(event) => actor.goTo(Number(event.currentTarget.value))}
      />
      <button
        type="button"
        aria-label="Step forth"
        disabled={shown === last}
        onClick={() => actor.goTo(shown + 1)}
      >
        ›
      </button>
      <button type="button" disabled={at.value === null} onClick={() => actor.goTo(null)}>
        Now
      </button>
      <output>
        {said}
        {at.value === null && ' (now)'}
      </output>
    </fieldset>
  );
}
