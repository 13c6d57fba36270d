import { useSignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { ArtifactView, TaskView } from '../../../../../machines/schema/views.ts';
import { wordsOf } from '../../api/words-of.ts';
import { useDashboard } from '../context.ts';
import { Fault } from '../parts/section.tsx';
import { TaskPlots } from './plots.tsx';
import { TaskArtifacts } from './task-artifacts.tsx';
import { TaskLog } from './task-log.tsx';

/** What is left of a task that has ended: its model and other files, and its log. */
export function TaskOutcome({ task }: { task: Pick<TaskView, 'id' | 'job_id' | 'status'> }) {
  const { api } = useDashboard();
  const artifacts = useSignal<readonly ArtifactView[] | null>(null);
  const fault = useSignal<string | null>(null);
  const load = async (signal?: AbortSignal) => {
    fault.value = null;
    const path = `v1/jobs/${encodeURIComponent(task.job_id)}/artifacts`;
    try {
      artifacts.value = await api.get<ArtifactView[]>(path, { task_id: task.id }, signal);
    } catch (reason) {
      if (!signal?.aborted) fault.value = wordsOf(reason);
    }
  };
  useEffect(() => {
    const leaving = new AbortController();
    void load(leaving.signal);
    return () => leaving.abort();
  }, [task.id]);
  const found = artifacts.value?.filter(({ task_id }) => task_id === task.id);
  return (
    <div class="task-panel">
      {fault.value !== null && <Fault text={fault.value} onRetry={() => void load()} />}
      {found && (
        <>
          <TaskArtifacts of={task.id} list={found} />
          <TaskPlots artifacts={found} />
          <TaskLog key={task.id} task={task} artifacts={found} />
        </>
      )}
    </div>
  );
}
