import { type Control, type LoadName, loads } from './loads.ts';
import type { FromLoad } from './process.ts';

/** The process of a load, one after another: connects, says so, waits for the word, measures, tells. */
const say = (message: FromLoad) => process.send?.(message);
/** Called with the word to begin. */
let go: () => void = () => {};

async function run(name: LoadName, params: never): Promise<void> {
  let began = process.cpuUsage();
  const control: Control = {
    ready: () =>
      new Promise((resolve) => {
        go = () => {
          began = process.cpuUsage();
          resolve();
        };
        say({ ready: true });
      }),
  };
  const done = await loads[name](params, control);
  const { user, system } = process.cpuUsage(began);
  say({ done, cpuSeconds: (user + system) / 1e6 });
}

process.on('message', (message: 'go' | { name: LoadName; params: never }) => {
  if (message === 'go') return go();
  run(message.name, message.params).catch((error: Error) => say({ fault: error.stack ?? error.message }));
});
process.once('disconnect', () => process.exit());
