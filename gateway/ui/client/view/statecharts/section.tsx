import { useEffect, useState } from 'preact/hooks';
import type { MachineName } from '../../../../../machines/charts/names.ts';
import type { Actor } from '../../model/statecharts/actor.ts';
import type { ChartView } from '../../model/statecharts/chart-view.ts';
import { valueAt } from '../../model/statecharts/replay/act.ts';
import { WhatIf } from '../../model/statecharts/replay/what-if.ts';
import type { MachineView, Statecharts } from '../../model/statecharts/statecharts.ts';
import { useDashboard } from '../context.ts';
import { LoadFault, Section } from '../parts/section.tsx';
import { Tabs } from '../parts/tabs.tsx';
import { ActorPath } from './actor-path.tsx';
import { Canvas } from './canvas.tsx';
import { Details } from './details.tsx';
import { Diagram } from './diagram.tsx';
import { Finder } from './finder.tsx';
import { Knows } from './knows.tsx';
import { MessageSequence } from './sequence.tsx';
import { Toggles } from './toggles.tsx';
import { WhatIfPanel } from './what-if.tsx';
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
  const view = of.viewOf(name);
  const drawing = view.drawing.value;
  const actor = of.actor.value?.about.kind === name ? of.actor.value : null;
  const [copy, setCopy] = useState<WhatIf | null>(null);
  useEffect(() => setCopy(null), [actor]);
  const looked = actor?.step.value ?? null;
  const state = looked?.to ?? actor?.state.value ?? null;
  const walked = actor?.steps.value.slice(0, (actor.at.value ?? Infinity) + 1) ?? [];
  const would = copy?.state.value ?? null;
  useEffect(() => {
    if (would !== null) view.reveal(would);
  }, [would, view]);
  useEffect(() => {
    if (state !== null) view.target.value = { state };
  }, [state, view]);
  return (
    <>
      <div class="chart-about">
        <p>
          {sentence(what)}. <span class="muted">{countsIn(machine)}</span>
        </p>
      </div>
      {actor ? <ActorPath key={actor.about.id} actor={actor} /> : <Hint name={name} />}
      <div class="chart-tools">
        <Finder of={of} />
        <Shows view={view} />
      </div>
      <div class="chart-place">
        {drawing ? (
          <Canvas label={`Statechart of the ${name}`} view={view} drawing={drawing}>
            {(scale) => (
              <>
                <Diagram
                  machine={machine}
                  drawing={drawing}
                  state={state}
                  path={walked.flatMap(({ ways }) => ways)}
                  step={looked?.ways ?? []}
                  would={would}
                  chosen={view.chosen.value}
                  scale={scale}
                />
                <Toggles view={view} drawing={drawing} scale={scale} />
              </>
            )}
          </Canvas>
        ) : (
          <p class="muted">
            This page has no picture of this chart: the server has another one. Load the page anew.
          </p>
        )}
        <div class="chart-side">
          <Details machine={machine} view={view} />
          {actor && !copy && <Begin actor={actor} onBegin={setCopy} />}
          {actor && !copy && <Knows actor={actor} />}
          {copy && <WhatIfPanel copy={copy} onEnd={() => setCopy(null)} />}
        </div>
      </div>
      {actor && <MessageSequence key={actor.about.id} actor={actor} />}
      <ChartInWords machine={machine} state={state} view={view} />
    </>
  );
}

/** Makes a copy of the actor as it is, or as it was after the step that is looked at. */
function Begin({ actor, onBegin }: { actor: Actor; onBegin: (copy: WhatIf) => void }) {
  const { about, now, step } = actor;
  const looked = step.value;
  const begin =
    looked === null ? now.value : looked.after && { value: valueAt(looked.to), context: looked.after };
  if (!begin) return null;
  return (
    <p class="chart-shows">
      <button type="button" onClick={() => onBegin(new WhatIf(about.kind, begin))}>
        What if … from here
      </button>
    </p>
  );
}

/** What of the chart is drawn. */
function Shows({ view }: { view: ChartView }) {
  const { detailed, collapsed, collapsible } = view;
  return (
    <div class="chart-shows">
      <button
        type="button"
        aria-pressed={detailed.value}
        onClick={() => {
          detailed.value = !detailed.value;
        }}
      >
        Guards and actions
      </button>
      {collapsible.value.length > 0 && (
        <>
          <button type="button" onClick={() => view.collapseAll()}>
            Close all
          </button>
          <button type="button" disabled={collapsed.value.length === 0} onClick={() => view.expandAll()}>
            Open all
          </button>
        </>
      )}
    </div>
  );
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
