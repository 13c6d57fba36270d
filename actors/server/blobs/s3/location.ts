import { StartError } from '../../../../machines/protocol/start-error.ts';

/** A part of a bucket. */
export interface S3Location {
  bucket: string;
  /** Of all keys: empty, or with a slash at its end. */
  prefix: string;
  /** Whether the bucket is named in the path of addresses, as most services but AWS want it. */
  pathStyle: boolean;
  /** As people are shown it. */
  url: string;
}

const FORM = 's3://BUCKET[/PREFIX][?path-style]';

/**
 * What `s3://bucket/prefix` names. Region, endpoint and credentials are what the environment and the files of the AWS
 * SDK say.
 * @param flag where it was written
 * @throws StartError `bad_option`
 */
export function s3Location(text: string, flag = '--objects'): S3Location {
  const [, bucket, path = '', query = ''] =
    /^s3:\/\/([a-z0-9][a-z0-9._-]{1,254})(\/[^?#]*)?(?:\?(.*))?$/i.exec(text) ?? [];
  if (bucket === undefined || (query !== '' && query !== 'path-style'))
    throw new StartError(
      'bad_option',
      `${flag}: '${text}' is no place for objects; it is written as ${FORM}`,
    );
  const names = path.split('/').filter(Boolean);
  if (names.some((name) => name === '.' || name === '..'))
    throw new StartError('bad_option', `${flag}: a prefix has no '.' and no '..': '${text}'`);
  const prefix = names.length === 0 ? '' : `${names.join('/')}/`;
  const shown = `s3://${[bucket, ...names].join('/')}`;
  return { bucket, prefix, pathStyle: query !== '', url: query === '' ? shown : `${shown}?${query}` };
}
