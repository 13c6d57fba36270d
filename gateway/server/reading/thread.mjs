// The door of a reading thread: threads do not inherit how their program loads TypeScript.
import { register } from 'tsx/esm/api';

register();
await import('./thread.ts');
