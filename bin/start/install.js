// Makes the bundle if there is none that fits, so that no program has to. npm runs it at the end of an installation,
// which does not fail by it: the first program makes the bundle then, or runs from the sources.
import { findBundle } from './find.js';
import { ENTRIES } from './places.js';

try {
  if (!Object.keys(ENTRIES).every(findBundle)) await (await import('./make.js')).makeBundle();
} catch (error) {
  console.log(`the programs will start from their sources: ${error.message}`);
}
