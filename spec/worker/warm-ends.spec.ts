import { warmly } from './warmly.ts';

// How tasks end, or are ended, each forked from a warm host.
await warmly('./cancellation.spec.ts', './worker-stops.spec.ts', './worker-faults.spec.ts');
