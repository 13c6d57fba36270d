import { useDashboard } from '../context.ts';
import { Icon } from './icon.tsx';

export function NoticeList() {
  const { notices } = useDashboard();
  return (
    <div class="notices" role="status">
      {notices.list.value.map(({ key, text, tone }) => (
        <div key={key} class={`notice is-${tone}`}>
          <span>{text}</span>
          <button
            type="button"
            class="bare"
            aria-label="Dismiss the message"
            onClick={() => notices.dismiss(key)}
          >
            <Icon name="cross" />
          </button>
        </div>
      ))}
    </div>
  );
}
