import fc from 'fast-check';
import { compose } from '../../../machines/json/raw.ts';
import { multipart } from '../../gateway/support.ts';
import { NASTY_TEXTS } from '../nasty.ts';
import { nested, spoil, spoilText } from './bodies.ts';
import type { ApiDocument, Operation, Parameter } from './document.ts';
import { valuesOf } from './values.ts';

/** Ids that exist; requests name one by its place, since ids differ from run to run. */
export interface Pool {
  of(parameter: string, path: string, place: number): string;
}

/** A request as it is sent, and what its sender knows of it. */
export interface HostileRequest {
  method: string;
  target: string;
  headers: [string, string][];
  body: Buffer | undefined;
  /** Whether the document allows it, its ids included: the server may then refuse it for its state only. */
  valid: boolean;
  /** The body as text where it is JSON, or is meant to be. */
  text: string | undefined;
}

type Make = (pool: Pool) => HostileRequest;

const pathValue = (parameter: Parameter, path: string) =>
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.nat(30).map((place) => (pool: Pool) => ({
        text: encodeURIComponent(pool.of(parameter.name, path, place)),
        known: true,
      })),
    },
    {
      weight: 1,
      arbitrary: fc
        .oneof(fc.constantFrom(...NASTY_TEXTS), fc.string({ unit: 'binary' }))
        // An empty one addresses the list: a path with a trailing slash is the path without it.
        .filter((text) => text !== '')
        .map((text) => () => ({ text: encode(text), known: false })),
    },
    { weight: 1, arbitrary: fc.constantFrom('%00', '%2e%2e%2f', '%', '%zz', '%c0%ae', '%ff').map(odd) },
  );
const odd = (text: string) => () => ({ text, known: false });

/** As a browser would; what has no UTF-8 form is sent as what a browser puts in its place. */
const encode = (text: string) => encodeURIComponent(text.replace(/\p{Cs}/gu, '\ufffd'));

interface QueryPair {
  name: string;
  value: string;
}

/** Parameters of the query: what the document allows. */
function goodQuery(document: ApiDocument, parameters: Parameter[]): fc.Arbitrary<QueryPair[]> {
  const each = parameters.map(({ name, required, schema }) => {
    const value = valuesOf(document, schema).map((v) => [{ name, value: String(v) }]);
    return required ? value : fc.option(value, { nil: [], freq: 3 });
  });
  return fc.tuple(...each).map((found) => found.flat());
}

const badPair = fc.oneof(
  fc.record({
    name: fc.constantFrom(
      'limit',
      'after_id',
      'before_id',
      'attempt',
      'created_before',
      'status',
      'format',
      'x',
    ),
    value: fc.oneof(
      fc.constantFrom(...NASTY_TEXTS),
      fc.constantFrom('-1', '1e9', '1e400', '99999999999999999999', '0x10', '1.5', 'NaN', '-0', '٣'),
    ),
  }),
  fc.record({ name: fc.constantFrom(...NASTY_TEXTS), value: fc.constantFrom(...NASTY_TEXTS) }),
);

const header = (name: string, values: fc.Arbitrary<string>): fc.Arbitrary<[string, string]> =>
  fc.tuple(fc.constant(name), values);
const printable = fc.constantFrom(...NASTY_TEXTS.filter((text) => /^[\x20-\x7e]{0,400}$/.test(text)));

/** Headers that say something odd, in characters that a header may hold. */
const oddHeader = fc.oneof(
  header('X-CLUSTER-Api', fc.constantFrom('1', '1.9', '2', 'x', '', '1e9', '999999999999')),
  header('X-CLUSTER-Version', printable),
  header('X-CLUSTER-Role', printable),
  header('Authorization', fc.constantFrom('Bearer', 'Bearer x', 'Basic eDp4', 'Bearer x, Bearer y')),
  header('Range', fc.constantFrom('bytes=0-0', 'bytes=-5', 'bytes=9-1', 'bytes=99999999-', 'bytes=a-b', 'x')),
  header('If-None-Match', fc.constantFrom('*', '"x"', 'W/"x", *', '')),
  header('If-Range', printable),
  header('Content-Encoding', fc.constantFrom('gzip', 'identity', 'br', '')),
  header('Accept', printable),
  header('Origin', fc.constantFrom('null', 'http://evil.example', '', 'file://', 'http://')),
  header('Host', fc.constantFrom('evil.example', 'localhost', '[::1]', '', ':80', 'localhost:99999')),
  header('X-HTTP-Method-Override', fc.constant('DELETE')),
  header('X-Forwarded-For', printable),
);

interface Sent {
  bytes: Buffer;
  type: string;
  text?: string;
}

function goodBody(document: ApiDocument, { id, bodies }: Operation): fc.Arbitrary<Sent | undefined> {
  const schema = bodies?.['application/json'];
  if (schema) {
    const values = valuesOf(document, schema).map(patient);
    // Half of the jobs keep the rules that no schema can say, so that they are taken.
    const kept = id === 'submitJob' || id === 'checkJob' ? fc.oneof(values, values.map(ruled)) : values;
    return kept.map((value) => sentText(compose(value)));
  }
  if (!bodies?.['multipart/form-data']) return fc.constant(undefined);
  // Parsers pass over a part whose name holds a line break.
  const texts = NASTY_TEXTS.filter((text) => !/[\r\n]/.test(text));
  const name = fc.constantFrom(...texts.map((text) => `; filename*=UTF-8''${encode(text)}`), '');
  return fc.tuple(fc.uint8Array({ maxLength: 200 }), name).map(([bytes, filename]) => {
    const { body, type } = multipart([
      {
        disposition: `name="file"${filename}`,
        content: Buffer.from(bytes),
        type: 'application/octet-stream',
      },
    ]);
    return { bytes: body, type };
  });
}

/** Waits for work only briefly, or the run would take hours. */
function patient(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || !('wait_s' in value)) return value;
  return { ...value, wait_s: 0.01 };
}

/** A job with exactly one of `pipeline` and `pipelines`, likewise of datasets, and constraints that can be read. */
function ruled(value: unknown): unknown {
  const job = { ...(value as Record<string, unknown>) };
  for (const [one, many] of [
    ['pipeline', 'pipelines'],
    ['dataset', 'datasets'],
  ] as const) {
    if (job[one] !== undefined) delete job[many];
    else if (job[many] === undefined) job[one] = { kind: 'artifact', artifact_id: 'art_1' };
  }
  const { packages: _, ...requirements } = (job.requirements ?? {}) as Record<string, unknown>;
  return { ...job, requirements, priority: -1 };
}

const sentText = (text: string): Sent => ({ bytes: Buffer.from(text), type: 'application/json', text });

/** A body that is broken in one way or another; valid by chance, sometimes. */
function badBody(good: Sent | undefined): fc.Arbitrary<Sent> {
  const type = good?.type ?? 'application/json';
  const bytes = good?.bytes ?? Buffer.from('{}');
  const byBytes = spoil(bytes).map((spoilt) => ({ bytes: spoilt, type }));
  const otherType = fc
    .constantFrom(
      'application/yaml',
      'text/plain',
      'multipart/form-data',
      'multipart/form-data; boundary=',
      '',
    )
    .map((other) => ({ bytes, type: other }));
  if (good && good.text === undefined) return fc.oneof(byBytes, otherType);
  const byText = spoilText(good?.text ?? '{}').map(sentText);
  return fc.oneof({ weight: 5, arbitrary: byText }, byBytes, otherType, nested.map(sentText));
}

/** Requests to one operation: half of them as documented, the others broken in one to three places. */
export function requestsTo(document: ApiDocument, operation: Operation): fc.Arbitrary<Make> {
  const inPath = operation.parameters.filter((p) => p.in === 'path');
  const inQuery = operation.parameters.filter((p) => p.in === 'query');
  const good = fc.record({
    path: fc.tuple(...inPath.map((parameter) => pathValue(parameter, operation.path))),
    query: goodQuery(document, inQuery),
    body: goodBody(document, operation),
  });
  const plain = good.map((parts) => made(operation, inPath, { ...parts, headers: [], isGood: true }));
  const broken = good.chain((parts) =>
    fc
      .record({
        query: fc.oneof(
          fc.constant(parts.query),
          fc.array(badPair, { maxLength: 4 }).map((more) => [...parts.query, ...more]),
          fc.subarray(parts.query),
        ),
        body: fc.oneof(fc.constant(parts.body), badBody(parts.body), badBody(parts.body)),
        headers: fc.oneof(fc.constant<[string, string][]>([]), fc.array(oddHeader, { maxLength: 3 })),
        method: fc.oneof(
          { weight: 8, arbitrary: fc.constant(operation.method) },
          {
            weight: 1,
            arbitrary: fc.constantFrom('HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'TRACE', 'get'),
          },
        ),
      })
      .map((spoilt) => made(operation, inPath, { ...parts, ...spoilt, isGood: false })),
  );
  return fc.oneof(plain, broken);
}

interface Parts {
  path: ((pool: Pool) => { text: string; known: boolean })[];
  query: QueryPair[];
  body: Sent | undefined;
  headers: [string, string][];
  method?: string;
  isGood: boolean;
}

function made(operation: Operation, inPath: Parameter[], parts: Parts): Make {
  const make: Make = (pool) => {
    let path = operation.path;
    let known = true;
    inPath.forEach(({ name }, i) => {
      const value = parts.path[i]?.(pool) ?? { text: 'x', known: false };
      path = path.replace(`{${name}}`, () => value.text);
      known &&= value.known;
    });
    const query = parts.query.map(({ name, value }) => {
      // Reports name their worker in the query; one that exists makes them go further.
      const shown = name === 'worker_id' ? pool.of('worker_id', operation.path, value.length) : value;
      return `${encode(name)}=${encode(shown)}`;
    });
    const type: [string, string][] = parts.body?.type ? [['Content-Type', parts.body.type]] : [];
    return {
      method: parts.method ?? operation.method,
      target: query.length > 0 ? `${path}?${query.join('&')}` : path,
      headers: [...type, ...parts.headers],
      body: parts.body?.bytes,
      valid: parts.isGood && known,
      text: parts.body?.text,
    };
  };
  // The message of a failure shows the request itself; this would be the text of a function.
  return Object.assign(make, { [fc.toStringMethod]: () => `a request to ${operation.id}` });
}
