// The door of a process that reads bodies: it does not inherit how its program loads TypeScript.
import { load } from '../../../bin/start/load.js';

await load('reading');
