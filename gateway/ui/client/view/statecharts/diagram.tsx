import { useId } from 'preact/hooks';
import type { Chosen } from '../../model/statecharts/chart-view.ts';
import { type Box, type Drawing, type Line, pathAlong } from '../../model/statecharts/drawing.ts';
import { travelled, type Way, within } from '../../model/statecharts/past.ts';
import { isAround, shortId } from '../../model/statecharts/reading.ts';
import { SIZES } from '../../model/statecharts/sizes.ts';
import type { MachineView } from '../../model/statecharts/statecharts.ts';
import { count } from '../../text/format.ts';

interface Props {
  machine: MachineView;
  drawing: Drawing;
  /** The state of the chosen actor. */
  state: string | null;
  path: readonly Way[];
  /** The ways of the step that is looked at. */
  step: readonly Way[];
  /** The state of a copy that takes events in the page. */
  would: string | null;
  /** What the reader has pointed at. */
  chosen: Chosen | null;
  /** 1 for its full size. */
  scale: number;
}

/** A machine as a picture; the list below it says the same to those who cannot see it. */
export function Diagram({ machine, drawing, state, path, step, would, chosen, scale }: Props) {
  const id = useId();
  const { width, height, boxes, lines } = drawing;
  const passed = new Set(path.flatMap(({ from, to }) => [from, to]));
  const marker = { normal: `${id}-head`, travelled: `${id}-head-travelled` };
  const travels = lines.map(({ arrows }) => arrows.some((arrow) => travelled(path, arrow)));
  const stepped = lines.map(({ arrows }) => arrows.some((arrow) => travelled(step, arrow)));
  const isChosen = (line: Line) =>
    chosen !== null && 'from' in chosen && chosen.from === line.from && chosen.to === line.to;
  const where = state === null ? '' : `; the chosen one is in ${shortId(state)}`;
  const copy = would === null ? '' : `; its copy is in ${shortId(would)}`;
  return (
    <svg
      class="chart"
      role="img"
      aria-labelledby={`${id}-title`}
      width={width * scale}
      height={height * scale}
      viewBox={`0 0 ${width} ${height}`}
    >
      <title id={`${id}-title`}>{`Statechart of the ${machine.name}${where}${copy}`}</title>
      <defs>
        <Head id={marker.normal} class="head" />
        <Head id={marker.travelled} class="head is-travelled" />
      </defs>
      {boxes.map((box) => (
        <State
          key={box.state.id}
          box={box}
          count={machine.counts[box.state.id]}
          lit={state !== null && box.depth > 0 && within(state, box.state.id)}
          passed={passed.has(box.state.id)}
          would={would !== null && box.depth > 0 && within(would, box.state.id)}
          chosen={chosen !== null && 'state' in chosen && chosen.state === box.state.id}
        />
      ))}
      {lines.map((line, i) => (
        <Arrow
          key={`${line.from} ${line.to}`}
          line={line}
          travelled={travels[i] === true}
          stepped={stepped[i] === true}
          chosen={isChosen(line)}
          head={travels[i] === true ? marker.travelled : marker.normal}
        />
      ))}
      {lines.map((line, i) => (
        <Labels
          key={`${line.from} ${line.to}`}
          line={line}
          travelled={travels[i] === true}
          stepped={stepped[i] === true}
          chosen={isChosen(line)}
        />
      ))}
    </svg>
  );
}

function Head({ id, class: name }: { id: string; class: string }) {
  return (
    <marker
      id={id}
      class={name}
      viewBox="0 0 8 8"
      refX="7"
      refY="4"
      markerWidth="7"
      markerHeight="7"
      orient="auto"
    >
      <path d="M0 0.5 8 4 0 7.5z" />
    </marker>
  );
}

interface StateProps {
  box: Box;
  count: number | undefined;
  lit: boolean;
  passed: boolean;
  would: boolean;
  chosen: boolean;
}

function State({ box, count: inside, lit, passed, would, chosen }: StateProps) {
  const { state, x, y, width, height, lines, frame, depth } = box;
  const classes = [
    'state',
    `is-${state.type}`,
    frame ? `frame depth-${depth % 2}` : '',
    lit ? 'is-lit' : '',
    passed ? 'is-passed' : '',
    would ? 'is-would' : '',
    chosen ? 'is-chosen' : '',
  ];
  return (
    <g
      class={classes.filter(Boolean).join(' ')}
      data-state={state.id}
      data-lit={lit}
      data-would={would}
      transform={`translate(${x} ${y})`}
    >
      <rect class="outline" width={width} height={height} rx={frame ? 10 : 8} />
      {state.type === 'final' && (
        <rect class="inner" x="3" y="3" width={width - 6} height={height - 6} rx="5.5" />
      )}
      {state.initial && <circle class="initial" cx="0" cy="14" r="4.5" />}
      <text class="key" x="10" y="17">
        {state.key}
      </text>
      {lines.map((line, i) => (
        <text key={i} class="staying" x="10" y={SIZES.title + 10 + i * SIZES.line}>
          {line}
        </text>
      ))}
      {inside !== undefined && <Badge of={inside} right={width - 7} />}
    </g>
  );
}

function Badge({ of, right }: { of: number; right: number }) {
  const text = count(of);
  const width = text.length * SIZES.letter + 10;
  return (
    <g class={of > 0 ? 'badge' : 'badge is-none'}>
      <rect x={right - width} y="5" width={width} height="16" rx="8" />
      <text class="inside" x={right - width / 2} y="17">
        {text}
      </text>
    </g>
  );
}

interface LineProps {
  line: Line;
  travelled: boolean;
  stepped: boolean;
  chosen: boolean;
}

const classOf = (name: string, { travelled, stepped, chosen }: Omit<LineProps, 'line'>): string =>
  `${name}${travelled ? ' is-travelled' : ''}${stepped ? ' is-stepped' : ''}${chosen ? ' is-chosen' : ''}`;

function Arrow({ line, head, ...looks }: LineProps & { head: string }) {
  const { from, to, points } = line;
  const [start] = points;
  const d = pathAlong(points);
  return (
    <g class={classOf('way', looks)} data-from={from} data-to={to}>
      {start && isAround(from, to) && <circle class="anywhere" cx={start.x} cy={start.y} r="4" />}
      <path class="grip" d={d} />
      <path
        class={classOf('arrow', looks)}
        data-from={from}
        data-to={to}
        data-travelled={looks.travelled}
        data-stepped={looks.stepped}
        d={d}
        marker-end={`url(#${head})`}
      />
    </g>
  );
}

function Labels({ line: { words, label, from, to }, ...looks }: LineProps) {
  return (
    <g class={classOf('labels', looks)} data-from={from} data-to={to}>
      <rect x={label.x} y={label.y} width={label.width} height={label.height} rx="4" />
      {words.map((text, i) => (
        <text
          key={i}
          class={text.startsWith('/ ') || text.startsWith('[') ? 'staying' : ''}
          x={label.x + label.width / 2}
          y={label.y + 11.5 + i * SIZES.line}
        >
          {text}
        </text>
      ))}
    </g>
  );
}
