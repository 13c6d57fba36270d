import { Type } from 'typebox';
import { withLines } from '../../../machines/json/yaml-lines.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import { type ValidationIssue, validator } from '../../../machines/schema/validate.ts';
import type { JsonRoute } from '../../contract/route.ts';
import { isYaml, parseDocument } from './parse-document.ts';

/** What the head of a request says of its body. */
export interface BodyForm {
  contentType: string | undefined;
  contentEncoding: string | undefined;
}

/**
 * From the bytes of a body to what its route needs of it. Takes as long as the body is large, in whichever process it
 * runs.
 * @throws ClusterError `malformed_body`, `invalid_body`, `body_too_large` or `body_too_complex`
 */
export type BodyParser = (bytes: Buffer, form: BodyForm) => unknown;

/** Bytes that take a few milliseconds at most, whatever they say: less than another process costs. */
const QUICK = { json: 64 * 1024, yaml: 2 * 1024 };

/** Whether a body may say far more than it has bytes: aliases of YAML repeat what they stand for, and each other. */
export const mayGrow = (bytes: Buffer, { contentType }: BodyForm): boolean =>
  isYaml(contentType) && bytes.includes('*');

/** Whether a body is so small that it may be read between two other requests. */
export const isQuick = (bytes: Buffer, form: BodyForm): boolean =>
  bytes.byteLength <= (isYaml(form.contentType) ? QUICK.yaml : QUICK.json) && !mayGrow(bytes, form);

const NO_BODY = Type.Object({});

/** The members that the route knows of; the others are tolerated, and nobody looks at them. */
function known(value: object, properties: object): object {
  for (const name of Object.keys(value)) {
    if (Object.hasOwn(properties, name)) continue;
    return Object.fromEntries(Object.entries(value).filter(([name]) => Object.hasOwn(properties, name)));
  }
  return value;
}

/** The reader of a route's bodies: parsed, checked, and digested where the route has a `digest`. */
export function bodyParser(route: Pick<JsonRoute, 'body' | 'yaml' | 'right' | 'digest'>): BodyParser {
  const body = route.body ?? NO_BODY;
  const check = validator(body);
  const { properties = {} } = body as { properties?: object };
  const { yaml = false, digest } = route;
  // Workers of other make write NaN where Python's json module does.
  const tolerant = route.right === 'execute';
  return (bytes, { contentType, contentEncoding }) => {
    const document = parseDocument(bytes, { contentType, contentEncoding, yaml, tolerant });
    const checked = check(document.value);
    if (!checked.ok) {
      const faults = isYaml(contentType) ? placed(bytes, checked.faults) : checked.faults;
      throw ClusterError.invalid('body', faults);
    }
    return digest ? digest(checked.value, document.text) : known(checked.value as object, properties);
  };
}

/** A person wrote it, and looks for the line. */
const placed = (bytes: Buffer, faults: readonly ValidationIssue[]): ValidationIssue[] =>
  withLines(bytes.toString('utf8').replace(/^\uFEFF/, ''), faults);
