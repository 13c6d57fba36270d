import type { AnyStateMachine } from 'xstate';
import { wordsFor } from './words.ts';

/** JSON as far as a machine's configuration needs it. */
export type Json = string | number | boolean | null | Json[] | { [key: string]: Json };

/**
 * The configuration of a machine as plain JSON that Stately's editor, the XState visualizer and
 * `createMachine` take unchanged. Guards and actions stand by their names; what only a running program can
 * use (the functions that make inputs, parameters and the first context) is left out.
 */
export function machineJson(machine: AnyStateMachine): { [key: string]: Json } {
  const config = plain(machine.config as Record<string, unknown>) as { [key: string]: Json };
  return { ...config, id: machine.id };
}

/** Members that hold nothing but functions or data for the program. */
const LEFT_OUT = new Set(['context', 'input', 'output', 'params', 'types', 'schemas', 'version']);

function plain(value: unknown): Json | undefined {
  if (typeof value === 'function' || value === undefined) return undefined;
  if (typeof value !== 'object' || value === null) return value as Json;
  if (Array.isArray(value)) return value.map(plain).filter((item) => item !== undefined);
  const members: { [key: string]: Json } = {};
  for (const [key, member] of Object.entries(value)) {
    if (LEFT_OUT.has(key)) continue;
    const cleaned = key === 'guard' ? wordsFor(member) : key === 'states' ? states(member) : plain(member);
    if (cleaned !== undefined) members[key] = cleaned;
  }
  return members;
}

/** The names of states are free, so a state may be called like a member that is left out elsewhere. */
function states(value: unknown): Json {
  return Object.fromEntries(Object.entries(value as object).map(([key, state]) => [key, plain(state) ?? {}]));
}
