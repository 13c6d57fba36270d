import { Counter, Gauge, type Metric, type OpenMetricsContentType, Registry } from 'prom-client';
import { AppError } from '../../machines/protocol/app-error.ts';
import type { Distribution } from './distribution.ts';

/** Label names to values, of one series. */
export type Labels = Readonly<Record<string, string>>;
/** Says what a series is at the moment. */
export type Tell<Value = number> = (value: Value, labels?: Labels) => void;
/** Tells every series of a metric, from what is in memory or by cheap reads: it is asked at each scrape. */
export type Look<Value = number> = (tell: Tell<Value>) => void | Promise<void>;

/** What a metric is, for documents. */
export interface Described {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly labels: readonly string[];
}

/** A text of all metrics, and its media type. */
export interface Exposition {
  readonly type: string;
  readonly text: string;
}

/** Whether a request asks for OpenMetrics. Who names both forms, as Prometheus does, prefers it. */
const asksOpenMetrics = (accept = ''): boolean =>
  accept
    .split(',')
    .map((range) => range.split(';').map((part) => part.trim().toLowerCase()))
    .some(
      ([type, ...of]) => type === 'application/openmetrics-text' && !of.some((p) => /^q=0(\.0*)?$/.test(p)),
    );

/**
 * The metrics of a program. Who counts, counts in numbers of his own, which cost nothing; they are asked for when
 * somebody wants to read them.
 */
export class Metrics {
  readonly #described: Described[] = [];
  readonly #plain = new Registry();
  readonly #open = new Registry<OpenMetricsContentType>();
  readonly #counters = new Map<string, { name: string }>();
  /** Who asks while somebody else is being answered gets that answer: many who ask cost no more than one. */
  readonly #underWay = new Map<'plain' | 'open', Promise<string>>();
  #last: Promise<unknown> = Promise.resolve();

  constructor() {
    this.#open.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
  }

  /** What there is now, of something that goes up and down. */
  gauge(name: string, help: string, labels: readonly string[], look: Look): void {
    const gauge = new Gauge({
      ...{ name, help, labelNames: [...labels], registers: [] },
      async collect() {
        this.reset();
        await asFarAsKnown(() => look((value, of = {}) => this.set(of, value)));
      },
    });
    this.#add({ name, help, type: 'gauge', labels }, gauge);
  }

  /** What has been counted since the program started. */
  counter(name: string, help: string, labels: readonly string[], look: Look): void {
    const counter = new Counter({
      ...{ name, help, labelNames: [...labels], registers: [] },
      async collect() {
        this.reset();
        await asFarAsKnown(() => look((value, of = {}) => this.inc(of, value)));
      },
    });
    this.#counters.set(name, counter as unknown as { name: string });
    this.#add({ name, help, type: 'counter', labels }, counter);
  }

  /** How often which values were observed since the program started. The library's own takes microseconds for each. */
  histogram(name: string, help: string, labels: readonly string[], look: Look<Distribution>): void {
    const values = async () => {
      const all: { labels: Record<string, string | number>; value: number; metricName: string }[] = [];
      const tell: Tell<Distribution> = (distribution, of = {}) => {
        let count = 0;
        for (const [place, bound] of [...distribution.bounds, '+Inf'].entries()) {
          count += distribution.counts[place] as number;
          all.push({ labels: { ...of, le: bound }, value: count, metricName: `${name}_bucket` });
        }
        all.push({ labels: of, value: distribution.sum, metricName: `${name}_sum` });
        all.push({ labels: of, value: count, metricName: `${name}_count` });
      };
      await asFarAsKnown(() => look(tell));
      return all;
    };
    const type = 'histogram';
    const histogram = { name, help, type, get: async () => ({ name, help, type, values: await values() }) };
    this.#add({ name, help, type, labels }, histogram as unknown as Metric);
  }

  /** A gateway that is started anew on the same backend takes the place of the one before. */
  #add(described: Described, metric: Metric): void {
    const earlier = this.#described.findIndex(({ name }) => name === described.name);
    this.#described.splice(earlier < 0 ? this.#described.length : earlier, 1, described);
    for (const registry of [this.#plain, this.#open as unknown as Registry]) {
      registry.removeSingleMetric(described.name);
      registry.registerMetric(metric);
    }
  }

  /** What is told, in the order in which it is. */
  get described(): readonly Described[] {
    return this.#described;
  }

  /** @param accept the header of the request: the text is OpenMetrics where it asks for that, else Prometheus' own */
  async text(accept?: string): Promise<Exposition> {
    const form = asksOpenMetrics(accept) ? 'open' : 'plain';
    const text = await (this.#underWay.get(form) ?? this.#read(form));
    return { type: form === 'open' ? this.#open.contentType : this.#plain.contentType, text };
  }

  /** One after the other: both forms are of the same metrics. */
  #read(form: 'plain' | 'open'): Promise<string> {
    const text = this.#last
      .then(() => (form === 'open' ? this.#open.metrics() : this.#plain.metrics()))
      .finally(() => {
        this.#underWay.delete(form);
        // The library takes `_total` from their names for OpenMetrics, and leaves it away from then on.
        for (const [name, counter] of this.#counters) counter.name = name;
      });
    this.#underWay.set(form, text);
    this.#last = text.catch(() => {});
    return text;
  }
}

/** What cannot be known just now, as the store is away, hides nothing else: who asks may want to know that very thing. */
async function asFarAsKnown(look: () => void | Promise<void>): Promise<void> {
  try {
    await look();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
  }
}
