import type { ErrorCode } from '../../../machines/protocol/errors.ts';
import type { ValidationIssue } from '../../../machines/schema/validate.ts';
import type { RouteName } from '../../contract/routes.ts';
import type { BodyForm } from './parse-body.ts';

/** What a parser process is asked: a body, and the route that it is for. */
export interface ParseRequest {
  route: RouteName;
  bytes: Uint8Array;
  form: BodyForm;
}

/** What it answers: what the route needs of the body, why the body is refused, or a fault of the program. */
export type ParseResponse =
  | { read: unknown }
  | { refused: { code: ErrorCode; detail: string; faults: ValidationIssue[] | undefined } }
  | { fault: string };
