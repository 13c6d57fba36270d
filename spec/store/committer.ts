// Commits events to a store, five a turn, for ever, and prints the last id of each turn once that is answered.
import { openAt } from './drivers.ts';
import { eventRow, nothing } from './row-support.ts';

const store = await openAt(process.argv[2] as string);
for (let last = 5; ; last += 5) {
  const events = [4, 3, 2, 1, 0].map((back) => ({ ...eventRow, id: last - back }));
  await store.commit({ ...nothing(), events });
  process.stdout.write(`${last}\n`);
}
