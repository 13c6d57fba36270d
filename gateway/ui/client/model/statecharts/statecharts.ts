import { computed, effect, signal, untracked } from '@preact/signals';
import type { Chart } from '../../../../../machines/charts/graph.ts';
import type { MachineName } from '../../../../../machines/charts/names.ts';
import type { Api } from '../../api/http.ts';
import type { Address } from '../address.ts';
import type { EventHub } from '../event-hub.ts';
import { Refresher } from '../refresher.ts';
import { Actor } from './actor.ts';
import { ChartView } from './chart-view.ts';
import { CHOOSABLE } from './past.ts';

export interface MachineView {
  name: MachineName;
  what: string;
  chart: Chart;
  /** State id to the actors in it. */
  counts: Record<string, number>;
}

const QUIET = new Set(['log', 'progress']);

/** The machines while somebody looks at them: what they are, who is where, and the way of one chosen actor. */
export class Statecharts {
  readonly machines = signal<readonly MachineView[] | null>(null);
  readonly actor = signal<Actor | null>(null);
  readonly refresher: Refresher;
  readonly shown = computed(() => {
    const machines = this.machines.value;
    const { machine } = this.#address.place.value;
    return machines?.find(({ name }) => name === machine) ?? machines?.[0] ?? null;
  });
  readonly #address: Address;
  readonly #api: Api;
  readonly #hub: EventHub;
  readonly #onFault: (error: unknown) => void;
  readonly #views = new Map<MachineName, ChartView>();
  #stops: (() => void)[] = [];

  constructor(api: Api, hub: EventHub, address: Address, onFault: (error: unknown) => void) {
    this.#api = api;
    this.#hub = hub;
    this.#address = address;
    this.#onFault = onFault;
    const load = async (signal: AbortSignal) => {
      this.machines.value = await api.get<MachineView[]>('v1/machines', {}, signal);
    };
    this.refresher = new Refresher(load, { every: 10_000, atLeast: 1_000, onFault });
  }

  start(): void {
    this.refresher.start();
    this.#stops = [
      this.#hub.subscribe(({ type }) => {
        if (!QUIET.has(type)) this.refresher.touch();
      }),
      this.#whileChosen(),
    ];
  }

  stop(): void {
    for (const stop of this.#stops) stop();
    this.#stops = [];
    this.refresher.stop();
  }

  /** How the chart of a machine is looked at, which stays while another one is. */
  viewOf(name: MachineName): ChartView {
    const view = this.#views.get(name) ?? new ChartView(name);
    this.#views.set(name, view);
    const machine = this.machines.peek()?.find((one) => one.name === name);
    if (machine) view.learn(machine.chart);
    return view;
  }

  #whileChosen(): () => void {
    const chosen = computed(() => {
      const { machine, actor, of } = this.#address.place.value;
      return JSON.stringify([machine, actor, of]);
    });
    return effect(() => {
      const [machine, id, jobId] = JSON.parse(chosen.value) as [string, string, string];
      const kind = CHOOSABLE.find((name) => name === machine);
      if (kind === undefined || id === '' || (kind === 'task' && jobId === '')) {
        this.actor.value = null;
        return;
      }
      const about = { kind, id, jobId: kind === 'job' ? id : jobId };
      const actor = new Actor(about, this.#api, this.#hub, this.#onFault);
      this.actor.value = actor;
      untracked(() => actor.start());
      return () => actor.stop();
    });
  }
}
