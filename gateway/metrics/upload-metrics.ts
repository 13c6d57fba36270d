import type { Metrics } from './metrics.ts';

/** How an upload ended: its artifact is recorded, it was refused, or its client went away. */
type Ending = 'stored' | 'refused' | 'gone';

/** Uploads of artifacts. */
export class UploadMetrics {
  readonly #ended: Record<Ending, number> = { stored: 0, refused: 0, gone: 0 };
  #bytes = 0;
  #open = 0;

  constructor(metrics: Metrics) {
    metrics.gauge('jq_uploads_in_flight', 'Uploads under way', [], (tell) => tell(this.#open));
    metrics.counter(
      'jq_uploads_total',
      'Uploads of artifacts by how they ended; small files of tasks, which travel with reports, and what goes past the server are not among them',
      ['end'],
      (tell) => {
        for (const [end, count] of Object.entries(this.#ended)) tell(count, { end });
      },
    );
    metrics.counter('jq_upload_bytes_total', 'Bytes of the uploads that were stored', [], (tell) =>
      tell(this.#bytes),
    );
  }

  began(): void {
    this.#open++;
  }

  /** @param bytes of one that was stored */
  ended(how: Ending, bytes = 0): void {
    this.#open--;
    this.#ended[how]++;
    this.#bytes += bytes;
  }
}
