import assert from 'node:assert/strict';
import type { RawAnswer } from '../../gateway/support.ts';
import type { ApiDocument, Operation } from './document.ts';
import type { HostileRequest } from './requests.ts';

/** What the document says of every path, beside its operations. */
const EVERYWHERE = ['unknown_path', 'method_not_allowed'];
const VERSION_HEADERS = ['x-cluster-version', 'x-cluster-api', 'x-cluster-role'];

/** Refusals that depend on the state of things, not on the request. */
const OF_THE_STATE = new Set([
  'job_kept',
  'job_in_use',
  'artifact_expired',
  'unknown_id',
  'not_owner',
  'illegal_transition',
  'not_holder',
  'stale_attempt',
  'superseded',
  'idempotency_conflict',
  'python_jobs_disabled',
  'range_not_satisfiable',
]);

/** Fails unless an answer is what the document says that the operation may answer to such a request. */
export function assertDocumented(
  document: ApiDocument,
  operation: Operation,
  request: HostileRequest,
  answer: RawAnswer,
): void {
  const { status } = answer;
  assert.ok(status < 500, `no fault of the server's own: ${status} ${answer.body}`);
  for (const name of VERSION_HEADERS) assert.ok(answer.headers.has(name), `${name} on ${status}`);
  if (status === 204) {
    assert.equal(request.method, 'OPTIONS', 'only OPTIONS is answered without a body');
    return;
  }
  const code = status >= 400 && request.method !== 'HEAD' ? codeOf(document, answer) : undefined;
  if (code !== undefined && EVERYWHERE.includes(code)) return;
  if (request.method === 'HEAD' && (status === 404 || status === 405)) return;
  const documented = operation.responses[status];
  assert.ok(documented, `${status} is documented for ${operation.id}: ${answer.body.slice(0, 300)}`);
  if (code !== undefined) {
    assert.ok(documented.description.includes(`\`${code}\``), `${code} is documented for ${operation.id}`);
  }
  assertContent(document, documented.content, request, answer);
  assertVerdict(document, operation, request, { status, code, body: answer.body });
}

function codeOf(document: ApiDocument, answer: RawAnswer): string {
  assert.equal(answer.headers.get('content-type'), 'application/json', 'an error is JSON');
  const body = JSON.parse(answer.body);
  assert.equal(document.faultsOf({ $ref: '#/components/schemas/Error' }, body), undefined, answer.body);
  assert.ok(
    body.detail.length > 0 && body.detail.length <= 2_001,
    `a sentence: ${body.detail.slice(0, 200)}`,
  );
  return body.code;
}

function assertContent(
  document: ApiDocument,
  content: Record<string, { schema?: Record<string, unknown> }> | undefined,
  request: HostileRequest,
  answer: RawAnswer,
): void {
  if (!content) return;
  const type = (answer.headers.get('content-type') ?? '').split(';')[0] as string;
  assert.ok(content[type], `the type '${type}' is documented (${Object.keys(content)})`);
  const schema = content[type].schema;
  if (type !== 'application/json' || !schema || request.method === 'HEAD') return;
  const fault = document.faultsOf(schema, JSON.parse(answer.body));
  assert.equal(fault, undefined, `the body is as documented: ${fault}; ${answer.body.slice(0, 500)}`);
}

/** A valid request is not called invalid, and an invalid body is not taken. */
function assertVerdict(
  document: ApiDocument,
  operation: Operation,
  request: HostileRequest,
  { status, code, body }: { status: number; code: string | undefined; body: string },
): void {
  if (request.valid && status >= 400 && !OF_THE_STATE.has(code ?? '') && status !== 426) {
    // What a schema cannot say: rules between members, and that an artifact must exist.
    const ruled = ['submitJob', 'checkJob', 'reportEvents', 'completeTask', 'pauseQueue', 'resumeQueue'];
    const rule = ruled.includes(operation.id);
    assert.ok(rule && code === 'invalid_body', `a valid request is refused: ${status} ${body}`);
  }
  const schema = operation.bodies?.['application/json'];
  if (status !== 200 || request.text === undefined || !schema || request.method !== operation.method) return;
  const value = parsed(request.text);
  if (value === undefined) return;
  const fault = document.faultsOf(schema, value);
  assert.equal(fault, undefined, `an invalid body is taken: ${fault}`);
}

/** The value of a body; undefined where the rules for null and for numbers beyond JSON speak instead of the schema. */
function parsed(text: string): unknown {
  if (/null|NaN|Infinity|e\+?\d{3}|\d{300}/i.test(text)) return undefined;
  const start = text.replace(/^\uFEFF/, '');
  return start.trim() === '' ? {} : JSON.parse(start);
}
