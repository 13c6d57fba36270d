// The door of the runner: how a worker starts it, from the bundle or from the sources.
import { load } from '../../../../bin/start/load.js';

try {
  await load('mljs');
} catch (fault) {
  // This machine cannot run any task; see README.md next to this file.
  process.stderr.write(`Error: the runner cannot be loaded: ${fault.message.replaceAll(/\s*\n\s*/g, ' ')}\n`);
  process.exitCode = 69;
}
