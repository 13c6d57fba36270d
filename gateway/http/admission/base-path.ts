import { StartError } from '../../../machines/protocol/start-error.ts';

/** Letters that no proxy, browser or client writes in another way. */
const SEGMENTS = /^(\/[A-Za-z0-9._~-]+)*$/;

/**
 * The path below which a server is reached, without a trailing slash; empty for none.
 * @throws StartError `bad_option`
 */
export function basePathOf(text: string): string {
  const path = text.replace(/\/+$/, '');
  const dots = path.split('/').some((segment) => segment === '.' || segment === '..');
  if (SEGMENTS.test(path) && !dots) return path;
  throw new StartError(
    'bad_option',
    `--base-path '${text}' is no path such as /jq: it begins with '/' and holds letters, digits and - . _ ~ only`,
  );
}
