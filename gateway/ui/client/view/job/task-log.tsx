import { useComputed, useSignal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { hasEnded } from '../../../../../machines/schema/statuses.ts';
import type { ArtifactView, EventView, TaskView } from '../../../../../machines/schema/views.ts';
import { EventTail, isGap } from '../../model/event-tail.ts';
import { LogFile, MOST_BYTES } from '../../model/log-file.ts';
import { bytes } from '../../text/format.ts';
import { plainLog } from '../../text/log-text.ts';
import { useDashboard } from '../context.ts';
import { Deleted, fileOf } from '../parts/artifact.tsx';
import { Choices } from '../parts/choices.tsx';
import { Fault } from '../parts/section.tsx';
import { LogText } from './log-text.tsx';

/** What a task printed: live while it runs; once it has ended, the uploaded log is the whole of it. */
interface Props {
  task: Pick<TaskView, 'id' | 'job_id' | 'status'>;
  artifacts: readonly ArtifactView[];
}

export function TaskLog({ task, artifacts }: Props) {
  const file = fileOf(artifacts, 'logs');
  const chosen = useSignal<'live' | 'file'>(file && hasEnded(task.status) ? 'file' : 'live');
  const source = file ? chosen.value : 'live';
  return (
    <section class="log" aria-label="Log of the task">
      <Deleted of={artifacts} what="logs" />
      {file && (
        <Choices
          label="Which log"
          options={[
            { value: 'live', label: 'As it ran' },
            { value: 'file', label: `Log file, ${bytes(file.size_bytes)}` },
          ]}
          chosen={source}
          onChoose={(name) => {
            chosen.value = name;
          }}
          small
        />
      )}
      {source === 'file' && file ? (
        <FileLog key={file.id} id={file.id} size={file.size_bytes} />
      ) : (
        <LiveLog jobId={task.job_id} taskId={task.id} running={!hasEnded(task.status)} />
      )}
    </section>
  );
}

/** Each event is read once, however often the log is drawn. */
const plain = new WeakMap<EventView, string>();

function linesOf(event: EventView): string {
  const text = plain.get(event) ?? (isGap(event) ? `[${event.message}]` : plainLog(event.message));
  plain.set(event, text);
  return text;
}

function LiveLog({ jobId, taskId, running }: { jobId: string; taskId: string; running: boolean }) {
  const { api, hub } = useDashboard();
  const tail = useMemo(
    () =>
      new EventTail(api, hub, {
        jobId,
        taskId,
        accepts: ({ type }) => type === 'log',
        page: 500,
        kept: 500,
      }),
    [jobId, taskId],
  );
  useEffect(() => {
    tail.start();
    return () => tail.stop();
  }, [tail]);
  const text = useComputed(() => tail.rows.value.map(linesOf).join('\n'));
  return (
    <>
      {tail.fault.value !== null && <Fault text={tail.fault.value} onRetry={() => void tail.earlier()} />}
      <LogText
        text={text}
        follows={running}
        empty={running ? 'It has printed nothing yet.' : 'No lines were sent while it ran.'}
        earlier={
          tail.hasEarlier.value ? { label: 'Earlier lines', load: () => void tail.earlier() } : undefined
        }
      />
    </>
  );
}

function FileLog({ id, size }: { id: string; size: number }) {
  const { api } = useDashboard();
  const file = useMemo(() => new LogFile(api, id, size), [id]);
  useEffect(() => {
    void file.load();
  }, [file]);
  const text = useComputed(() => file.text.value ?? '');
  const left = file.left.value;
  const more = Math.min(size, MOST_BYTES);
  const earlier =
    left > 0 && size - left < more
      ? {
          label: `${bytes(left)} before; show ${more < size ? `the last ${bytes(more)}` : 'all'}`,
          load: () => void file.load(more),
        }
      : undefined;
  return (
    <>
      {file.fault.value !== null && <Fault text={file.fault.value} onRetry={() => void file.load()} />}
      <LogText
        text={text}
        follows={false}
        empty={file.text.value === null ? 'Loading…' : 'The log is empty.'}
        earlier={earlier}
      />
    </>
  );
}
