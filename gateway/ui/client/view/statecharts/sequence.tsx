import { useId, useState } from 'preact/hooks';
import type { Actor } from '../../model/statecharts/actor.ts';
import { shortId } from '../../model/statecharts/reading.ts';
import type { Message } from '../../model/statecharts/replay/world.ts';
import { type Sequence, sequenceOf } from '../../model/statecharts/sequence.ts';
import { clockTime, count } from '../../text/format.ts';
import { Scroller } from '../parts/scroller.tsx';

/** So many messages are drawn at once. */
const PAGE = 40;
const SIZES = { column: 150, row: 30, head: 34, time: 64 } as const;

/** Who told whom what, as the machines have made it happen again from what is recorded. */
export function MessageSequence({ actor }: { actor: Actor }) {
  const { past, about, step } = actor;
  const [page, setPage] = useState(0);
  const all = past.value.messages;
  const pages = Math.max(1, Math.ceil(all.length / PAGE));
  const shown = Math.min(page, pages - 1);
  const end = all.length - shown * PAGE;
  const messages = all.slice(Math.max(0, end - PAGE), end);
  return (
    <details class="chart-words">
      <summary>Messages between {among(about.kind)}</summary>
      {all.length === 0 ? (
        <p class="muted">{past.value.why || 'None is known yet.'}</p>
      ) : (
        <>
          <p class="muted">
            The machines have sent them again, as the recorded events tell. What left no event, such as
            heartbeats and what no state took, is recorded nowhere and not among them.
          </p>
          {pages > 1 && (
            <p class="chart-shows">
              <button type="button" disabled={shown === pages - 1} onClick={() => setPage(shown + 1)}>
                Earlier
              </button>
              <button type="button" disabled={shown === 0} onClick={() => setPage(shown - 1)}>
                Later
              </button>
              {`${count(end - messages.length + 1)} to ${count(end)} of ${count(all.length)}`}
            </p>
          )}
          <Scroller label="Messages in their order" class="chart-sequence">
            <Picture sequence={sequenceOf(messages)} looked={step.value?.event.id ?? null} />
          </Scroller>
          <details>
            <summary>The same as a list</summary>
            <ol class="chart-messages">
              {messages.map((message, i) => (
                <li key={i}>{inWords(message)}</li>
              ))}
            </ol>
          </details>
        </>
      )}
    </details>
  );
}

const among = (kind: Actor['about']['kind']): string =>
  ({
    job: 'the job, its tasks, their workers and the supervisor',
    task: 'the task, its job, its workers and the supervisor',
    worker: 'the worker, its tasks and the supervisor',
  })[kind];

function inWords({ event, from, to, sent, silent, states }: Message): string {
  const [before, after] = [states[0], states.at(-1)];
  const moves = before && after && before !== after ? `: ${shortId(before)} → ${shortId(after)}` : '';
  const name = (party: Message['from']) =>
    party.id === party.kind || party.kind === 'client' ? party.kind : `${party.kind} ${party.id}`;
  return `${silent ? 'before ' : ''}${clockTime(event.ts)} ${name(from)} to ${name(to)}: ${sent.type}${moves}`;
}

function Picture({ sequence: { lifelines, rows }, looked }: { sequence: Sequence; looked: number | null }) {
  const id = useId();
  const width = SIZES.time + lifelines.length * SIZES.column;
  const height = SIZES.head + rows.length * SIZES.row + 10;
  const x = (place: number) => SIZES.time + (place + 0.5) * SIZES.column;
  return (
    <svg class="sequence" role="img" aria-label="Messages in their order" width={width} height={height}>
      <defs>
        <marker id={id} viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">
          <path d="M0 0.5 8 4 0 7.5z" />
        </marker>
      </defs>
      {lifelines.map(({ label, id: party, kind }, place) => (
        <g key={`${kind} ${party}`} class="lifeline" data-party={`${kind} ${party}`}>
          <title>{party}</title>
          <text x={x(place)} y="18">
            {label}
          </text>
          <path d={`M${x(place)} ${SIZES.head - 8}V${height}`} />
        </g>
      ))}
      {rows.map(
        (
          {
            message: {
              event,
              sent,
              silent,
              to: { kind },
            },
            from,
            to,
          },
          i,
        ) => {
          const y = SIZES.head + i * SIZES.row + 20;
          return (
            <g
              key={i}
              class={`message${event.id === looked ? ' is-looked' : ''}${silent ? ' is-silent' : ''}`}
              data-message={`${sent.type} to ${kind}`}
            >
              <text class="time" x="4" y={y + 3}>
                {clockTime(event.ts)}
              </text>
              <path d={`M${x(from)} ${y}H${x(to)}`} marker-end={`url(#${id})`} />
              <text x={(x(from) + x(to)) / 2} y={y - 4}>
                {sent.type}
              </text>
            </g>
          );
        },
      )}
    </svg>
  );
}
