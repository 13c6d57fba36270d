import type { TaskView } from '../schema/views.ts';

/** Texts that say the same, and what each was said of. */
export interface Group<Member> {
  text: string;
  members: Member[];
}

/** Ids, which differ where nothing else does: in the path of a task's own directory, for example. */
const IDS = /\b(job|task|worker|art)_[\w-]{8,}/g;

/** The same texts once, the most frequent first; those that differ by ids alone are the same. */
export function grouped<Member>(entries: Iterable<readonly [text: string, member: Member]>): Group<Member>[] {
  const groups = new Map<string, Group<Member>>();
  for (const [text, member] of entries) {
    const key = text.replace(IDS, '$1_…');
    const group = groups.get(key) ?? { text, members: [] };
    if (group.text !== text) group.text = key;
    group.members.push(member);
    groups.set(key, group);
  }
  return [...groups.values()].sort((a, b) => b.members.length - a.members.length);
}

/** What runners warned of in their results, each with the ids of the tasks. */
export const runnerWarnings = (tasks: readonly TaskView[]): Group<string>[] =>
  grouped(
    tasks.flatMap(({ id, result }) => {
      const { warnings } = (result?.extra ?? {}) as { warnings?: unknown };
      return Array.isArray(warnings) ? warnings.map((text) => [String(text), id] as const) : [];
    }),
  );
