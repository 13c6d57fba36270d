import { readFleet, type Template } from '../../machines/fleet/file.ts';
import { profileOf } from '../../machines/fleet/offer.ts';
import type { Allocation, OwnWorker, TemplateFacts } from '../../machines/fleet/plan.ts';
import { NEW_TEMPLATE, type TemplateContext } from '../../machines/fleet/template.ts';
import type { DemandGroup } from '../../machines/schema/demand.ts';

const BROUGHT = { packages: { mljs: '0.1.0' } };

/** A template as its file says it; local, of three workers at most, but for what differs. */
export function template(differs: Record<string, unknown> = {}): Template {
  const read = readFleet({
    name: 'lab',
    templates: [{ name: 'cpu', engine: 'local', max: 3, idle: '1min', ...differs }],
  });
  if ('faults' in read) throw new Error(`the test's own template is wrong: ${JSON.stringify(read.faults)}`);
  return read.fleet.templates[0] as Template;
}

/** The same as it is decided of. */
export function facts(
  differs: Record<string, unknown> = {},
  state: TemplateFacts['state'] = 'ready',
  context: Partial<TemplateContext> = {},
): TemplateFacts {
  const described = template(differs);
  return {
    ...{ template: described, profile: profileOf(described, BROUGHT), state },
    context: { ...NEW_TEMPLATE, ...context },
  };
}

/** Tasks that are wanted; of mljs, but for what differs. */
export const wanted = (slots_wanted: number, differs: Partial<DemandGroup> = {}): DemandGroup => ({
  ...{ requirement: 'packages.mljs', requirements: { packages: { mljs: '' } }, seconds: null, slots_wanted },
  ...{ tasks_held: 0, types: ['mljs.run'], workers: 0, slots_total: 0, slots_free: 0 },
  ...differs,
});

/** An allocation of the first template. */
export const allocation = (place: number, differs: Partial<Allocation> = {}): Allocation => ({
  ...{ template: 'cpu', place, id: `a${place}`, state: 'running', reason: null, ends_at: null },
  ...differs,
});

/** Its worker. */
export const worker = (place: number, slots_used: number, differs: Partial<OwnWorker> = {}): OwnWorker => ({
  ...{ template: 'cpu', place, slots_total: 1, slots_used, takes: true },
  profile: profileOf(template(), BROUGHT),
  ...differs,
});
