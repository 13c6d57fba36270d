import { ClusterError } from '../../../../machines/protocol/errors.ts';
import { StartError } from '../../../../machines/protocol/start-error.ts';

/** What the SDK knows of a fault. */
interface Fault {
  name: string;
  message?: string;
  code?: string;
  /** Codes of an answer. */
  Code?: string;
  $metadata?: { httpStatusCode?: number };
  $response?: { statusCode?: number };
}

/** That of the answer; 0 where none came. */
export const statusOf = (error: unknown): number => {
  const { $metadata, $response } = error as Fault;
  return $metadata?.httpStatusCode ?? $response?.statusCode ?? 0;
};

/** The name that S3 has for it, or the system. */
export const nameOf = (error: unknown): string => {
  const { name, code, Code } = error as Fault;
  return Code ?? (name === 'Error' || name === 'AggregateError' ? (code ?? name) : name);
};

/** There is nothing under the key. */
export const isMissing = (error: unknown): boolean =>
  ['NoSuchKey', 'NotFound'].includes(nameOf(error)) ||
  (statusOf(error) === 404 && nameOf(error) !== 'NoSuchBucket');

/** There is something already, where there should have been nothing. */
export const isThere = (error: unknown): boolean => statusOf(error) === 412;

/** Somebody else writes the same key at this moment. */
export const isConflict = (error: unknown): boolean => statusOf(error) === 409;

/** The service does not know what was asked of it. */
export const isUnknown = (error: unknown): boolean =>
  statusOf(error) === 501 || nameOf(error) === 'NotImplemented';

/** The range begins behind the last byte. */
export const isBehind = (error: unknown): boolean => statusOf(error) === 416;

const WRONG = new Set([
  'CredentialsProviderError',
  'NoSuchBucket',
  'PermanentRedirect',
  'AuthorizationHeaderMalformed',
  'InvalidBucketName',
]);

/** People have to put it right: credentials, the bucket, the region. */
export function isWrong(error: unknown): boolean {
  const status = statusOf(error);
  const { message } = error as Fault;
  return (
    status === 401 || status === 403 || WRONG.has(nameOf(error)) || /region is missing/i.test(message ?? '')
  );
}

/** In words, with the name that can be looked up. */
export function wordsOf(error: unknown): string {
  const { message = '' } = error as Fault;
  const name = nameOf(error);
  return message === '' || message === name || message === 'UnknownError'
    ? `${name}${statusOf(error) > 0 ? `, status ${statusOf(error)}` : ''}`
    : `${name}: ${message}`;
}

/** The object store did not do what was asked; nothing is known to be wrong with the bytes. */
export const unavailable = (error: unknown): ClusterError | StartError =>
  error instanceof ClusterError || error instanceof StartError
    ? error
    : new ClusterError(
        'objects_unavailable',
        `the object store cannot be used just now (${wordsOf(error)}); try again`,
      );
