import type { ArtifactView } from '../../../../../machines/schema/views.ts';
import { tail } from '../../text/format.ts';
import { DownloadButton } from '../parts/download.tsx';

/** What a task left, each with its button. */
export function TaskArtifacts({ of: taskId, list }: { of: string; list: readonly ArtifactView[] }) {
  return (
    <span class="chips">
      {list.map(({ id, role, size_bytes }) => (
        <DownloadButton
          key={`${role} ${id}`}
          id={id}
          size={size_bytes}
          label={role}
          of={`task ${tail(taskId)}`}
        />
      ))}
    </span>
  );
}
