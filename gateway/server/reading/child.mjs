// The door of a process that reads bodies: it does not inherit how its program loads TypeScript.
import { register } from 'tsx/esm/api';

register();
await import('./child.ts');
