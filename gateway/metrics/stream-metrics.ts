import type { Metrics } from './metrics.ts';

/** What a stream carries. */
type Topic = 'events' | 'inspection';

const TOPICS: readonly Topic[] = ['events', 'inspection'];

/** The open streams, and what was sent to them. */
export class StreamMetrics {
  readonly #sent: Record<Topic, number> = { events: 0, inspection: 0 };
  readonly #dropped: Record<Topic, number> = { events: 0, inspection: 0 };
  readonly #ended: Record<Topic, Map<number, number>> = { events: new Map(), inspection: new Map() };

  /** @param open how many are open */
  constructor(metrics: Metrics, open: (topic: Topic) => number) {
    metrics.gauge('jq_streams', 'Open WebSocket streams', ['topic'], (tell) => {
      for (const topic of TOPICS) tell(open(topic), { topic });
    });
    metrics.counter('jq_stream_frames_total', 'Frames that were sent to streams', ['topic'], (tell) => {
      for (const topic of TOPICS) tell(this.#sent[topic], { topic });
    });
    metrics.counter(
      'jq_stream_frames_dropped_total',
      'Frames that were due to a client when it was closed as too slow; of events it finds them again by after_id',
      ['topic'],
      (tell) => {
        for (const topic of TOPICS) tell(this.#dropped[topic], { topic });
      },
    );
    metrics.counter(
      'jq_streams_ended_total',
      'Streams that the server closed, by close code: 1001 shut down, 1008 credential revoked, 1013 too slow',
      ['topic', 'code'],
      (tell) => {
        for (const topic of TOPICS)
          for (const [code, count] of this.#ended[topic]) tell(count, { topic, code: String(code) });
      },
    );
  }

  sent(topic: Topic): void {
    this.#sent[topic]++;
  }

  dropped(topic: Topic, frames: number): void {
    this.#dropped[topic] += frames;
  }

  ended(topic: Topic, code: number): void {
    this.#ended[topic].set(code, (this.#ended[topic].get(code) ?? 0) + 1);
  }
}
