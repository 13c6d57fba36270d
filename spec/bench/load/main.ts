import { type Control, type LoadName, loads } from './loads.ts';
import type { FromLoad } from './process.ts';

/** The process of one load: connects, says so, waits for the word, measures, tells. */
const say = (message: FromLoad) => process.send?.(message);

async function run(name: LoadName, params: never): Promise<void> {
  let began = process.cpuUsage();
  const control: Control = {
    ready: () =>
      new Promise((resolve) => {
        process.once('message', () => {
          began = process.cpuUsage();
          resolve();
        });
        say({ ready: true });
      }),
  };
  const done = await loads[name](params, control);
  const { user, system } = process.cpuUsage(began);
  say({ done, cpuSeconds: (user + system) / 1e6 });
}

process.once('message', ({ name, params }: { name: LoadName; params: never }) => {
  run(name, params).catch((fault: Error) => say({ fault: fault.stack ?? fault.message }));
});
process.once('disconnect', () => process.exit());
