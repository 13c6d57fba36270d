import type { AgentContext, Answered, Registration, Trouble } from './agent-types.ts';
import type { Lease } from './run.ts';

/** The registration; states that ask for it are not entered without one. */
export function registrationOf(context: AgentContext): Registration {
  if (!context.registered) throw new Error('the worker is not registered');
  return context.registered;
}

export function contentOf<T>(answer: Answered<T>): T {
  if (!answer.ok) throw answer.trouble;
  return answer.value;
}

export const leasesOf = (answer: Answered<Lease[]>): Lease[] => (answer.ok ? answer.value : []);

export const faultIn = (answer: Answered<unknown>): Trouble | null => (answer.ok ? null : answer.trouble);

export function troubleOf(answer: Answered<unknown>): Trouble {
  if (answer.ok) throw new Error('an answer without trouble');
  return answer.trouble;
}

/** A fault of this program is met like a server that is away: with a pause, and it is in the log. */
export const bug = (fault: unknown): Trouble => ({
  kind: 'unreachable',
  detail: String(fault),
  cause: fault,
});
