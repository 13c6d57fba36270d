import { signal } from '@preact/signals';
import { recall, remember } from '../api/storage.ts';

export const THEMES = ['auto', 'light', 'dark'] as const;
export type ThemeName = (typeof THEMES)[number];

const KEY = 'jq-cluster.theme';

/** Light or dark: as the system has it, or as the reader chose. */
export class Theme {
  readonly name = signal<ThemeName>(THEMES.find((name) => name === recall(KEY)) ?? 'auto');
  /** Changes whenever colours do, for what draws on a canvas. */
  readonly changes = signal(0);
  readonly #system = window.matchMedia('(prefers-color-scheme: dark)');

  start(): void {
    this.#system.addEventListener('change', this.#changed);
    this.#apply();
  }

  stop(): void {
    this.#system.removeEventListener('change', this.#changed);
  }

  next(): void {
    const index = THEMES.indexOf(this.name.value);
    this.name.value = THEMES[(index + 1) % THEMES.length] ?? 'auto';
    remember(KEY, this.name.value === 'auto' ? null : this.name.value);
    this.#apply();
  }

  #apply(): void {
    document.documentElement.dataset.theme = this.name.value;
    this.#changed();
  }

  readonly #changed = () => {
    this.changes.value++;
  };
}
