import type { ErrorCode } from '../../machines/protocol/errors.ts';
import { type Route, takesBody } from '../contract/route.ts';

/** Every code that a route may answer with: its own, and those of its kind. */
export function codesOf(route: Route): ErrorCode[] {
  const codes: ErrorCode[] = [
    'malformed_request',
    'origin_refused',
    'host_refused',
    'incompatible_api',
    'internal',
    'overloaded',
  ];
  codes.push(route.kind === 'upload' ? 'artifact_too_large' : 'body_too_large');
  if (route.right !== null)
    codes.push('unauthenticated', 'missing_rights', 'store_unavailable', 'store_damaged', 'draining');
  if (route.right !== null) codes.push('standing_by');
  if (route.path.includes('{')) codes.push('unknown_path');
  if (route.query) codes.push('malformed_query');
  if (route.kind === 'json' && takesBody(route.method))
    codes.push('malformed_body', 'invalid_body', 'body_too_complex');
  if (route.kind === 'upload') codes.push('malformed_body', 'no_room');
  if (route.kind === 'stream') codes.push('upgrade_required');
  return [...new Set([...codes, ...(route.errors ?? [])])];
}
