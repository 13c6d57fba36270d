import { ClusterError } from '../../../machines/protocol/errors.ts';
import { hasNoRoom } from './no-room.ts';

/** Of the process and not of the disk; told for all requests alike (`gateway/http/reply/refusal.ts`). */
const OUT_OF_FILES: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE']);

/**
 * Faults of the disk as errors of the protocol (docs/protocol.md#errors): it is full, or cannot be used, as one that was
 * mounted anew for reading only, or whose files are another user's. Others stay what they are.
 */
export function toClusterError(error: unknown): unknown {
  if (error instanceof ClusterError) return error;
  if (hasNoRoom(error)) {
    return new ClusterError(
      'no_room',
      'there is no room for the artifact; free space on the server and try again',
    );
  }
  const { code = '', syscall } = error as NodeJS.ErrnoException;
  if (!(error instanceof Error) || syscall === undefined || OUT_OF_FILES.has(code)) return error;
  return new ClusterError(
    'objects_unavailable',
    `the disk of the server neither takes nor gives artifacts (${code}); its log says what its owner has to mend`,
  );
}
