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
