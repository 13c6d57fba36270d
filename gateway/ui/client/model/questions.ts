import { signal } from '@preact/signals';

export interface Question {
  title: string;
  text: string;
  yes: string;
  no: string;
  tone: 'plain' | 'danger';
}

/** Asks before something happens that cannot be undone. One question at a time. */
export class Questions {
  readonly open = signal<Question | null>(null);
  #answer: (yes: boolean) => void = () => {};

  ask(question: Question): Promise<boolean> {
    this.answer(false);
    this.open.value = question;
    return new Promise((resolve) => {
      this.#answer = resolve;
    });
  }

  answer(yes: boolean): void {
    this.open.value = null;
    this.#answer(yes);
    this.#answer = () => {};
  }
}
