import { useEffect, useRef, useState } from 'preact/hooks';
import type { MachineName } from '../../../../../machines/charts/names.ts';
import type { MachineView, Statecharts } from '../../model/statecharts/statecharts.ts';
import { useDashboard } from '../context.ts';
import { Scroller } from '../parts/scroller.tsx';
import { LoadFault, Section } from '../parts/section.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { ActorPath } from './actor-path.tsx';
import { Diagram } from './diagram.tsx';
import { ChartInWords } from './words.tsx';

/** Every machine that runs, as it is defined, with who is where. */
export function StatechartsSection() {
  const { statecharts, address } = useDashboard();
  const open = statecharts.value;
  if (!open) return null;
  const machines = open.machines.value;
  const shown = open.shown.value;
  // Whoever was chosen belongs to one machine.
  const choose = (machine: MachineName) => address.go({ machine, actor: '', of: '' });
  return (
    <Section id="statecharts" title="Statecharts" class="statecharts">
      <LoadFault of={open.refresher} what="The statecharts" />
      {machines && shown && (
        <Tabs
          label="Machines"
          items={machines.map(({ name }) => ({ name, label: name }))}
          chosen={shown.name}
          onChoose={choose}
        >
          <Machine key={shown.name} machine={shown} of={open} />
        </Tabs>
      )}
    </Section>
  );
}

function Machine({ machine, of }: { machine: MachineView; of: Statecharts }) {
  const { name, what } = machine;
  const [fit, setFit] = useState(false);
  const actor = of.actor.value?.about.kind === name ? of.actor.value : null;
  const state = actor?.state.value ?? null;
  const frame = useRef<HTMLElement>(null);
  useEffect(() => {
    if (state !== null && frame.current) bringIntoSight(frame.current, state);
  }, [state, fit]);
  return (
    <>
      <div class="chart-about">
        <p>
          {sentence(what)}. <span class="muted">{countsIn(machine)}</span>
        </p>
        <button type="button" aria-pressed={fit} onClick={() => setFit(!fit)}>
          Fit to the width
        </button>
      </div>
      {actor ? <ActorPath key={actor.about.id} actor={actor} /> : <Hint name={name} />}
      <Scroller label={`Statechart of the ${name}`} class="chart-frame" frame={frame}>
        <Diagram
          machine={machine}
          drawing={of.drawing(machine)}
          state={state}
          path={actor?.path.value ?? []}
          fit={fit}
        />
      </Scroller>
      <ChartInWords machine={machine} state={state} />
    </>
  );
}

/** Scrolls the picture, not the page, until a state is in its middle. */
function bringIntoSight(frame: HTMLElement, state: string): void {
  const drawn = [...frame.querySelectorAll('[data-state]')].find(
    (one) => one.getAttribute('data-state') === state,
  );
  if (!drawn) return;
  const target = drawn.getBoundingClientRect();
  const sight = frame.getBoundingClientRect();
  frame.scrollLeft += target.left + target.width / 2 - (sight.left + sight.width / 2);
  frame.scrollTop += target.top + target.height / 2 - (sight.top + sight.height / 2);
}

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function countsIn({ name, counts }: MachineView): string {
  if (name === 'agent' || name === 'run') {
    return 'It runs inside the worker programs, so the server cannot count them.';
  }
  return Object.keys(counts).length > 0 || name !== 'supervisor'
    ? 'The numbers say how many are in each state now.'
    : 'There is one in this server.';
}

function Hint({ name }: { name: MachineName }) {
  if (name !== 'job' && name !== 'task' && name !== 'worker') return null;
  const where = { job: 'an open job', task: 'an open task of a job', worker: 'a worker' }[name];
  return (
    <p class="chart-about muted">
      To light the state of one {name}, press “Statechart” at {where}.
    </p>
  );
}
