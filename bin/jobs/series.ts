const LINE = /^(\w+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

interface One {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** The series of a text of metrics. */
export class Series {
  readonly #byName = new Map<string, One[]>();

  constructor(text: string) {
    for (const line of text.split('\n')) {
      const [, name, labels = '', value] = LINE.exec(line) ?? [];
      if (name === undefined) continue;
      const pairs = [...labels.matchAll(LABEL)].map(([, key, of = '']) => [key, of.replace(/\\(.)/g, '$1')]);
      const one = { labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) };
      const known = this.#byName.get(name);
      if (known) known.push(one);
      else this.#byName.set(name, [one]);
    }
  }

  all(name: string): readonly One[] {
    return this.#byName.get(name) ?? [];
  }

  /** The first with these labels; undefined where there is none. */
  value(name: string, labels: Readonly<Record<string, string>> = {}): number | undefined {
    const wanted = Object.entries(labels);
    return this.all(name).find((one) => wanted.every(([key, of]) => one.labels[key] === of))?.value;
  }
}
