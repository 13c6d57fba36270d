import { isUtf8 } from 'node:buffer';
import { depthExceeds, MAX_DEPTH } from '../../../machines/json/depth.ts';
import { parseTolerant } from '../../../machines/json/raw.ts';
import { YamlError, yamlToJson } from '../../../machines/json/yaml.ts';
import { ClusterError } from '../../../machines/protocol/errors.ts';

/** A body as a value, and as the JSON text that it was (or, from YAML, that it says). */
export interface ParsedBody {
  value: unknown;
  text: string;
}

export interface ParseRules {
  contentType: string | undefined;
  contentEncoding: string | undefined;
  /** Whether the endpoint takes YAML. */
  yaml: boolean;
  /** Whether bare NaN and Infinity are read as null, as in the bodies of workers (docs/protocol.md#bodies). */
  tolerant: boolean;
}

const YAML_TYPE = /^\s*(application|text)\/(x-)?yaml\s*(;|$)/i;

/** Whether a content type says YAML. */
export const isYaml = (contentType: string | undefined): boolean => YAML_TYPE.test(contentType ?? '');

/** JSON has no such limits: reading YAML takes tens of times longer, and most of it goes into what these count. */
const MAX_YAML_CHARACTERS = 2 * 1024 * 1024;
const MAX_YAML_SIGNS = 250_000;
const EMPTY: ParsedBody = { value: {}, text: '{}' };

const malformed = (detail: string) => new ClusterError('malformed_body', detail);

/**
 * Reads a body. What does not say that it is YAML is taken for JSON, whatever type it claims; an empty body is
 * `{}`.
 * @throws ClusterError `malformed_body`; for a body that is no object, `invalid_body`; `body_too_large` and
 *   `body_too_complex` for YAML
 */
export function parseDocument(bytes: Buffer, rules: ParseRules): ParsedBody {
  if (rules.contentEncoding && rules.contentEncoding.trim().toLowerCase() !== 'identity') {
    throw malformed(`the body is compressed (${rules.contentEncoding}); send it as it is`);
  }
  if (!isUtf8(bytes)) throw malformed('the body is not valid UTF-8');
  const sent = bytes.toString('utf8').replace(/^\uFEFF/, '');
  if (sent.trim() === '') return EMPTY;
  const text = isYaml(rules.contentType) ? jsonOfYaml(sent, rules) : sent;
  if (depthExceeds(text, MAX_DEPTH)) throw malformed(`the body is nested deeper than ${MAX_DEPTH} levels`);
  const value = parse(text, rules);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw ClusterError.invalid('body', [{ path: '/', message: 'must be object' }]);
  }
  return { value, text };
}

function jsonOfYaml(text: string, rules: ParseRules): string {
  if (!rules.yaml) throw malformed('this endpoint takes JSON, not YAML');
  if (text.length > MAX_YAML_CHARACTERS) {
    throw new ClusterError(
      'body_too_large',
      'a YAML body may have at most 2 MiB; send it as JSON, as jqctl does',
    );
  }
  if (signsExceed(text, MAX_YAML_SIGNS)) {
    throw new ClusterError(
      'body_too_complex',
      'a YAML body may have at most 250,000 lines, commas, colons, dashes and brackets; send it as JSON, as jqctl does',
    );
  }
  try {
    return yamlToJson(text);
  } catch (error) {
    if (error instanceof YamlError) throw malformed(`malformed YAML: ${error.message}`);
    throw malformed('malformed YAML');
  }
}

function parse(text: string, rules: ParseRules): unknown {
  try {
    const value = rules.tolerant ? parseTolerant(text) : JSON.parse(text);
    return HALF_PAIR.test(text) ? wellFormed(value) : value;
  } catch (error) {
    throw malformed(`malformed JSON: ${(error as Error).message}`);
  }
}

/** Only an escape can bring half a surrogate pair into a body that is UTF-8. */
const HALF_PAIR = /\\u[dD][89a-fA-F]/;

/**
 * Replaces halves of surrogate pairs in texts, in place. They have no form in UTF-8, so the store would keep
 * something else than was answered.
 */
function wellFormed(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/\p{Cs}/gu, '\ufffd');
  if (typeof value !== 'object' || value === null) return value;
  const members = value as Record<string, unknown>;
  for (const key of Object.keys(members)) members[key] = wellFormed(members[key]);
  return value;
}

/** The characters without which YAML begins no line, key or element. */
const SIGNS = new Set([...'\n,:-?[]{}'].map((sign) => sign.charCodeAt(0)));

/** Whether more than `max` signs of structure stand in a text of YAML; those within words count as well. */
function signsExceed(text: string, max: number): boolean {
  let signs = 0;
  for (let i = 0; i < text.length && signs <= max; i++) if (SIGNS.has(text.charCodeAt(i))) signs++;
  return signs > max;
}
