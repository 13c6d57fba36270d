import { warmly } from './warmly.ts';

// What becomes of tasks, each forked from a warm host, when the worker program is killed.
await warmly('./worker-crashes.spec.ts');
