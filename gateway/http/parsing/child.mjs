// Entry of a parser process: it does not inherit how its program loads TypeScript.
import { load } from '../../../bin/start/load.js';

await load('parser');
