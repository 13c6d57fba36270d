import type { ClusterClient } from '../../gateway/client/client.ts';
import type { EngineName, Fleet } from '../../machines/fleet/file.ts';
import type { OwnWorker } from '../../machines/fleet/plan.ts';
import type { DemandView } from '../../machines/schema/demand.ts';
import type { WorkerView } from '../../machines/schema/views.ts';
import { type Engine, EngineError, type Look } from './engine.ts';
import { placeIn } from './worker-command.ts';

export type Engines = Readonly<Record<EngineName, Engine>>;

/** All that is seen at one moment. */
export interface Seen extends Look {
  demand: DemandView;
  workers: OwnWorker[];
  /** Engines that could not be looked at, and why: of their templates nothing is known. */
  blind: Map<EngineName, string>;
}

/**
 * Looks at the engines first: an allocation whose worker registers meanwhile is seen, and never only its worker.
 * @throws the client's errors, when the server cannot be asked
 */
export async function lookAround(client: ClusterClient, fleet: Fleet, engines: Engines): Promise<Seen> {
  const blind = new Map<EngineName, string>();
  const seen: Look = { allocations: [], failures: [] };
  for (const name of new Set(fleet.templates.map(({ engine }) => engine))) {
    try {
      const own = fleet.templates.filter(({ engine }) => engine === name);
      const { allocations, failures } = await engines[name].look(own);
      seen.allocations.push(...allocations);
      seen.failures.push(...failures);
    } catch (error) {
      if (!(error instanceof EngineError)) throw error;
      blind.set(name, error.message);
    }
  }
  const [demand, views] = await Promise.all([
    client.call('getDemand'),
    client.call('listWorkers', { query: { status: 'alive' } }),
  ]);
  return { ...seen, demand, workers: views.flatMap((view) => ownWorker(fleet, view) ?? []), blind };
}

/** A worker of the fleet; null for another. */
function ownWorker(fleet: Fleet, view: WorkerView): OwnWorker | null {
  if (view.status !== 'alive') return null;
  for (const { name } of fleet.templates) {
    const place = placeIn(fleet.name, name, view.name);
    if (place === null) continue;
    const { slots_total, slots_used, labels, capabilities, version } = view;
    const takes = view.leaving === null && view.suspended === null && (view.drained ?? null) === null;
    return {
      ...{ template: name, place, slots_total, slots_used, takes },
      profile: { labels, capabilities, version },
    };
  }
  return null;
}
