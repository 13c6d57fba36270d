import { existsSync } from 'node:fs';
import { procfs } from './proc.ts';
import type { Processes } from './processes.ts';
import { psProcesses } from './ps.ts';
import { windowsProcesses } from './windows.ts';

/** How this system is asked about processes. */
export const system: Processes = choose(process.platform, existsSync('/proc/self/stat'));

/** @param hasProc whether there is a /proc of Linux's kind */
export function choose(platform: NodeJS.Platform, hasProc: boolean): Processes {
  if (platform === 'win32') return windowsProcesses();
  // The BSDs and Solaris have another /proc, or none.
  return platform === 'linux' && hasProc ? procfs : psProcesses();
}
