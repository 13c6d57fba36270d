import type { DemandView } from '../../machines/schema/demand.ts';
import { counted, duration } from './format.ts';
import type { Output } from './output.ts';
import { plain } from './plain.ts';
import { table } from './table.ts';

/** What is wanted of workers, a line for each requirement, and what there is for it. */
export function demandTable({ groups, groups_left_out }: DemandView, output: Output): string {
  const rows = groups.map((group) => [
    String(group.slots_wanted),
    plain(group.requirement),
    group.seconds === null ? '-' : duration(group.seconds),
    String(group.tasks_held),
    `${group.slots_free}/${group.slots_total}`,
  ]);
  const columns = [
    { title: 'wanted', align: 'right' as const },
    { title: 'of workers that have', flexible: true },
    { title: 'each takes', align: 'right' as const },
    { title: 'under way', align: 'right' as const, optional: true },
    { title: 'free slots', align: 'right' as const },
  ];
  const more = groups_left_out === 0 ? [] : [`and ${counted(groups_left_out, 'requirement')} more`];
  return [table(columns, rows, output), ...more].join('\n');
}
