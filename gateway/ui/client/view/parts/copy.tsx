import { useState } from 'preact/hooks';
import { tail } from '../../text/format.ts';
import { useDashboard } from '../context.ts';
import { Icon } from './icon.tsx';

const SHOWN_MS = 1_500;

/** An id, shortened to its telling end, with a button that copies all of it. */
export function Id({ id, what, whole = false }: { id: string; what: string; whole?: boolean }) {
  return (
    <span class="id">
      <code title={id}>{whole ? id : tail(id)}</code>
      <Copy text={id} what={`${what} id`} />
    </span>
  );
}

export function Copy({ text, what }: { text: string; what: string }) {
  const { notices } = useDashboard();
  const [done, setDone] = useState(false);
  const copy = async () => {
    if (!(await copied(text))) return void notices.say(`The ${what} could not be copied`, 'bad');
    notices.say(`Copied the ${what}`);
    setDone(true);
    setTimeout(() => setDone(false), SHOWN_MS);
  };
  return (
    <button
      type="button"
      class="bare"
      title={`Copy the ${what}`}
      aria-label={`Copy the ${what} ${text.slice(0, 80)}`}
      onClick={copy}
    >
      <Icon name={done ? 'check' : 'copy'} />
    </button>
  );
}

/** Browsers give the clipboard to secure pages only, and a server on a LAN is none: then the old way. */
async function copied(text: string): Promise<boolean> {
  try {
    if (navigator.clipboard) {
      await navigator.clipboard.writeText(text);
      return true;
    }
  } catch {
    // Refused; the old way may still do.
  }
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'off-screen';
  const focused = document.activeElement as HTMLElement | null;
  document.body.append(field);
  field.select();
  try {
    return document.execCommand('copy');
  } finally {
    field.remove();
    focused?.focus();
  }
}
