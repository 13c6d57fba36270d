import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { useDashboard } from '../context.ts';

interface Props {
  title: string;
  /** Takes as much room as there is. */
  wide?: boolean;
  onClose: () => void;
  children: ComponentChildren;
}

/** A modal dialog: the browser keeps the focus in it, Escape closes it, and the focus returns where it was. */
export function Dialog({ title, wide = false, onClose, children }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const opener = document.activeElement as HTMLElement | null;
    const dialog = ref.current;
    dialog?.showModal();
    return () => {
      dialog?.close();
      opener?.focus();
    };
  }, []);
  return (
    <dialog ref={ref} class={wide ? 'dialog wide' : 'dialog'} aria-labelledby={id} onCancel={onClose}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  );
}

/** The question that waits for an answer, if one does. */
export function QuestionDialog() {
  const { questions } = useDashboard();
  const question = questions.open.value;
  if (!question) return null;
  return (
    <Dialog key={question.title} title={question.title} onClose={() => questions.answer(false)}>
      <p>{question.text}</p>
      <div class="dialog-actions">
        <button type="button" onClick={() => questions.answer(false)}>
          {question.no}
        </button>
        <button
          type="button"
          class={question.tone === 'danger' ? 'danger' : 'primary'}
          onClick={() => questions.answer(true)}
        >
          {question.yes}
        </button>
      </div>
    </Dialog>
  );
}
