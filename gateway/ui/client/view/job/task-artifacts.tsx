import type { ArtifactView } from '../../../../../machines/schema/views.ts';
import { tail } from '../../text/format.ts';
import { Artifact } from '../parts/artifact.tsx';

/** What a task left. */
export function TaskArtifacts({ of: taskId, list }: { of: string; list: readonly ArtifactView[] }) {
  return (
    <span class="chips">
      {list.map((artifact) => (
        <Artifact
          key={`${artifact.role} ${artifact.id}`}
          artifact={artifact}
          label={artifact.role}
          of={`task ${tail(taskId)}`}
        />
      ))}
    </span>
  );
}
