import { useSignal } from '@preact/signals';
import { useEffect, useId, useMemo } from 'preact/hooks';
import type { JobView } from '../../../../../machines/schema/views.ts';
import { wordsOf } from '../../api/words-of.ts';
import { titleOf } from '../../dashboard.ts';
import { SpecEdit, textToEdit, type Verdict } from '../../model/spec-edit.ts';
import { counted } from '../../text/format.ts';
import { useDashboard } from '../context.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Icon } from '../parts/icon.tsx';

/** Submits a job again, with its specification changed. */
export function RunAgain({ job }: { job: JobView }) {
  const { api, notices } = useDashboard();
  const text = useSignal<string | null>(null);
  const open = async () => {
    try {
      const request = await api.text(`v1/jobs/${encodeURIComponent(job.id)}/request`);
      text.value = textToEdit(request, job);
    } catch (error) {
      notices.say(`The specification of ${titleOf(job)} could not be read: ${wordsOf(error)}`, 'bad');
    }
  };
  const close = () => {
    text.value = null;
  };
  return (
    <>
      <button type="button" class="button" aria-haspopup="dialog" onClick={() => void open()}>
        <Icon name="retry" /> Run again with…
      </button>
      {text.value !== null && <Editor job={job} text={text.value} onClose={close} />}
    </>
  );
}

interface EditorProps {
  job: JobView;
  text: string;
  onClose: () => void;
}

function Editor({ job, text, onClose }: EditorProps) {
  const { api, address, notices } = useDashboard();
  const id = useId();
  const edit = useMemo(() => new SpecEdit(api, text), [text]);
  const sending = useSignal(false);
  const verdict = edit.verdict.value;
  useEffect(() => {
    edit.start();
    return () => edit.stop();
  }, [edit]);
  const submit = async () => {
    if (verdict.is !== 'right' || sending.value) return;
    sending.value = true;
    try {
      const fresh = await edit.submit();
      notices.say(`Submitted: ${titleOf(fresh)}, ${counted(fresh.aggregate.num_tasks, 'task')}`);
      onClose();
      address.go({ job: fresh.id, tab: '' });
    } catch (error) {
      notices.say(`It was not submitted: ${wordsOf(error)}`, 'bad');
      sending.value = false;
    }
  };
  return (
    <Dialog title={`Run ${titleOf(job)} again with…`} onClose={onClose} wide>
      <label for={id} class="off-screen">
        Specification of the new job
      </label>
      <textarea
        id={id}
        class="spec-edit"
        spellcheck={false}
        autocomplete="off"
        aria-describedby={`${id}-verdict`}
        aria-invalid={verdict.is === 'wrong'}
        defaultValue={text}
        onInput={({ currentTarget }) => edit.change(currentTarget.value)}
      />
      <div id={`${id}-verdict`} class="verdict" role="status">
        <VerdictWords of={verdict} before={job.aggregate.num_tasks} />
      </div>
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          Leave it
        </button>
        <button
          type="button"
          class="primary"
          disabled={verdict.is !== 'right' || sending.value}
          onClick={() => void submit()}
        >
          Submit as a new job
        </button>
      </div>
    </Dialog>
  );
}

function VerdictWords({ of, before }: { of: Verdict; before: number }) {
  if (of.is === 'checking') return <p class="muted">Checking…</p>;
  if (of.is === 'wrong') {
    return of.faults.length === 0 ? (
      <p class="wrong">{of.sentence}</p>
    ) : (
      <ul class="wrong">
        {of.faults.map(({ path, message, line }) => (
          <li key={path + message}>
            {line !== undefined && `Line ${line}: `}
            <code>{path}</code> {message}
          </li>
        ))}
      </ul>
    );
  }
  const { num_tasks, expands, warnings } = of.check;
  return (
    <>
      <p>
        {expands ? 'As many tasks as the library finds variants' : counted(num_tasks, 'task')}
        {!expands && num_tasks !== before && <span class="muted">, where it was {before}</span>}
      </p>
      {warnings.length > 0 && (
        <ul class="muted">
          {warnings.map((text) => (
            <li key={text}>{text}</li>
          ))}
        </ul>
      )}
    </>
  );
}
