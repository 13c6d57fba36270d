import type { Fleet } from '../../machines/fleet/file.ts';
import type { Plan, TemplatePlan } from '../../machines/fleet/plan.ts';
import { counted } from './format.ts';
import type { Output } from './output.ts';
import { plain } from './plain.ts';
import { table } from './table.ts';

interface Found {
  plan: Plan;
  blind: ReadonlyMap<string, string>;
}

/** What a fleet has, what it would ask for, and why. */
export function fleetReport(fleet: Fleet, { plan, blind }: Found, isKept: boolean, output: Output): string {
  const columns = [
    { title: 'template' },
    { title: 'engine' },
    { title: 'running', align: 'right' as const },
    { title: 'waiting', align: 'right' as const },
    { title: 'max', align: 'right' as const },
    { title: 'slots wanted', align: 'right' as const },
    { title: 'asks', align: 'right' as const },
    { title: 'why', flexible: 'last' as const },
  ];
  const rows = fleet.templates.map(({ name, engine, max }) => {
    const decided = plan.templates.find((each) => each.name === name);
    if (decided === undefined)
      return [name, engine, '?', '?', String(max), '?', '0', `${engine} is not seen`];
    const { running, waiting, wanted, ask } = decided;
    return [name, engine, ...[running, waiting, max, wanted, ask.length].map(String), plain(whyOf(decided))];
  });
  return [
    isKept
      ? `fleet ${fleet.name} is kept`
      : `nobody keeps fleet ${fleet.name}; this is what would be done (jqctl fleet)`,
    table(columns, rows, output),
    ...[...blind].map(([engine, why]) => `${engine} cannot be looked at: ${plain(why)}`),
    ...plan.unserved.flatMap(({ requirement, slots_wanted, why }) => [
      '',
      `nobody serves ${counted(slots_wanted, 'slot')} with ${plain(requirement)}:`,
      ...why.map(({ template, reasons }) => `  ${template} ${plain(reasons.join(', and '))}`),
    ]),
  ].join('\n');
}

const whyOf = ({ why, withdraw }: TemplatePlan): string =>
  withdraw.length === 0 ? why : `${why}; gives up ${counted(withdraw.length, 'allocation')}`;
