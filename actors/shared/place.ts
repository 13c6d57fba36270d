import { hostname } from 'node:os';

/** Where this program runs, for people. */
export const PLACE = `${hostname()}, process ${process.pid}`;
