import { warmly } from './warmly.ts';

// What tasks do and leave, each forked from a warm host.
await warmly('./worker.spec.ts', './output.spec.ts', './odd-files.spec.ts', './leftovers.spec.ts');
