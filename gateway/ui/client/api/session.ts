import { computed, signal } from '@preact/signals';
import { recall, remember } from './storage.ts';

export interface Me {
  principal: string;
  rights: string[];
}

const KEY = 'jq-cluster.token';

/** The credential, kept in this browser, and what it allows. */
export class Session {
  readonly token = signal(recall(KEY) ?? '');
  /** Null until the server has told, and while it refuses. */
  readonly me = signal<Me | null>(null);
  readonly mayCancel = computed(() => this.#has('cancel'));
  readonly maySubmit = computed(() => this.#has('submit'));

  /** Uses another token; the empty one forgets it. */
  use(token: string): void {
    remember(KEY, token || null);
    this.token.value = token;
  }

  /** Follows a change that was made in another tab. Returns the way to stop. */
  watch(): () => void {
    const heard = ({ key, newValue }: StorageEvent) => {
      if (key === KEY) this.token.value = newValue ?? '';
    };
    window.addEventListener('storage', heard);
    return () => window.removeEventListener('storage', heard);
  }

  /** `admin` is a wildcard (docs/semantics.md#rights). */
  #has(right: string): boolean {
    const rights = this.me.value?.rights ?? [];
    return rights.includes(right) || rights.includes('admin');
  }
}
