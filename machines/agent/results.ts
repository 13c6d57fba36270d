import type { Lease } from '../attempt/attempt.ts';
import type { AgentContext, LinkError, Registration, Result } from './types.ts';

/** The registration; states that ask for it are not entered without one. */
export function registrationOf(context: AgentContext): Registration {
  if (!context.registered) throw new Error('the worker is not registered');
  return context.registered;
}

export function contentOf<T>(answer: Result<T>): T {
  if (!answer.ok) throw answer.linkError;
  return answer.value;
}

export const leasesOf = (answer: Result<Lease[]>): Lease[] => (answer.ok ? answer.value : []);

export const errorIn = (answer: Result<unknown>): LinkError | null => (answer.ok ? null : answer.linkError);

export function linkErrorOf(answer: Result<unknown>): LinkError {
  if (answer.ok) throw new Error('an answer without an error');
  return answer.linkError;
}

/** A fault of this program is met like a server that is away: with a pause, and it is in the log. */
export const bug = (error: unknown): LinkError => ({
  kind: 'unreachable',
  detail: String(error),
  cause: error,
});
