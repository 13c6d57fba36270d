import { signal } from '@preact/signals';

export interface Notice {
  key: number;
  text: string;
  tone: 'plain' | 'bad';
}

const SHOWN_MS = 6_000;
const MOST = 4;

/** Short messages about what the reader did; read aloud, and gone after a moment. */
export class Notices {
  readonly list = signal<readonly Notice[]>([]);
  #next = 1;

  /** Returns the way to change its text; `done` lets it fade. */
  say(text: string, tone: Notice['tone'] = 'plain'): Saying {
    const key = this.#next++;
    this.list.value = [...this.list.value, { key, text, tone }].slice(-MOST);
    const timer = setTimeout(() => this.dismiss(key), SHOWN_MS);
    return {
      update: (text) => {
        clearTimeout(timer);
        this.list.value = this.list.value.map((one) => (one.key === key ? { ...one, text } : one));
      },
      done: (text) => {
        this.dismiss(key);
        this.say(text);
      },
      failed: (text) => {
        this.dismiss(key);
        this.say(text, 'bad');
      },
    };
  }

  dismiss(key: number): void {
    this.list.value = this.list.value.filter((one) => one.key !== key);
  }
}

export interface Saying {
  update(text: string): void;
  done(text: string): void;
  failed(text: string): void;
}
