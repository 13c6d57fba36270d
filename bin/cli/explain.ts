import { UsageError } from 'clipanion';
import {
  BrokenOffError,
  InvalidResponseError,
  ResponseError,
  UnreachableError,
  UntrustedError,
} from '../../gateway/client/errors.ts';
import { StartError } from '../../machines/protocol/start-error.ts';
import { SupersededError } from '../../machines/protocol/superseded-error.ts';
import type { ValidationIssue } from '../../machines/schema/validate.ts';
import { CliError, EXIT } from './exit.ts';
import { localError } from './local-error.ts';

/** Turns whatever went wrong into an exit code, a sentence and what to do next. */
export function explain(error: unknown): CliError {
  if (error instanceof CliError) return error;
  if (error instanceof ResponseError) return refused(error);
  if (error instanceof BrokenOffError) {
    return new CliError(EXIT.unreachable, error.message, {
      hint: 'the line to the server is bad, or the server ended; run the command again',
    });
  }
  if (error instanceof UnreachableError) {
    return new CliError(EXIT.unreachable, error.message, {
      hint: 'is the server running there? Start one with: jqctl server; name another with --server or JQ_SERVER',
    });
  }
  if (error instanceof UntrustedError) {
    return new CliError(EXIT.unreachable, error.message, {
      hint: 'name the certificate of its authority with --ca or JQ_CA, and the server as its certificate does',
    });
  }
  if (error instanceof InvalidResponseError) {
    return new CliError(EXIT.unreachable, `this server cannot be understood: ${error.message}`, {
      hint: 'is this the address of a jq-cluster server? See --server and JQ_SERVER',
    });
  }
  if (error instanceof SupersededError || (error instanceof StartError && error.code === 'store_away')) {
    return new CliError(EXIT.later, error.message);
  }
  if (error instanceof StartError || error instanceof UsageError) {
    return new CliError(EXIT.usage, error.message);
  }
  const local = localError(error);
  if (local !== undefined) return new CliError(EXIT.usage, local);
  const defect = error instanceof Error ? error : new Error(String(error));
  return new CliError(EXIT.internal, `internal fault: ${defect.message}`, {
    hint: 'this is a defect of the program; JQ_DEBUG=1 shows where',
    details: process.env.JQ_DEBUG ? (defect.stack?.split('\n').slice(1) ?? []) : [],
  });
}

/** What the server refused, by its status (docs/protocol.md#errors). */
function refused(answer: ResponseError): CliError {
  // A single fault often is the sentence itself.
  const isNew = ({ path, message }: { path: string; message: string }) =>
    !(answer.message.includes(path) && answer.message.includes(message));
  const details = issueLines(answer.faults.filter(isNew));
  const fault = (exit: number, hint?: string) =>
    new CliError(exit, answer.message, hint === undefined ? { details } : { details, hint });
  const { status, code } = answer;
  if (status === 401) return fault(EXIT.unauthorised, 'give a valid token with --token or JQ_TOKEN');
  if (status === 403) {
    return fault(EXIT.unauthorised, 'use a credential that may do this, with --token or JQ_TOKEN');
  }
  if (status >= 500) {
    const seconds = answer.retryAfter;
    const again = seconds === undefined ? 'later' : `in ${seconds} s`;
    return fault(EXIT.unreachable, `the server cannot do this now; try again ${again}`);
  }
  if (code === 'upgrade_required') {
    return fault(
      EXIT.usage,
      'a proxy between here and the server does not pass WebSockets on (the header Upgrade)',
    );
  }
  if (status === 426) {
    return fault(
      EXIT.usage,
      'this program and the server are of different generations: upgrade the older one',
    );
  }
  if (code === 'unknown_id') {
    const also = answer.message.startsWith('no job ') ? 'nor is one called so; ' : '';
    return fault(EXIT.usage, `${also}list the jobs with: jqctl jobs`);
  }
  if (status === 404 || status === 405) {
    return fault(EXIT.usage, 'is this the address of a jq-cluster server? See --server and JQ_SERVER');
  }
  if (code === 'idempotency_conflict') {
    return fault(EXIT.usage, 'another job was submitted under this key; choose another one');
  }
  return fault(EXIT.usage);
}

export function issueLines(faults: readonly ValidationIssue[]): string[] {
  return faults.map(
    ({ path, message, line }) => `${line === undefined ? '' : `line ${line}: `}${path}  ${message}`,
  );
}
