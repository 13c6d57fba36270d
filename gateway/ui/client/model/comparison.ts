import { signal } from '@preact/signals';
import { type ComparedJob, comparedJob } from '../../../../machines/results/compare.ts';
import { artifactsIn, type Content } from '../../../../machines/results/spec-diff.ts';
import type { JobView, TaskView } from '../../../../machines/schema/views.ts';
import type { Api } from '../api/http.ts';
import { wordsOf } from '../api/words-of.ts';

/** Jobs that can be told apart side by side. */
export const MOST_COMPARED = 10;
/** Succeeded tasks whose versions are looked at, and artifacts whose contents are. */
const LOOKED_AT = { tasks: 100, artifacts: 100 };

export const idsIn = (text: string): string[] => [
  ...new Set(
    text
      .split(',')
      .filter((id) => id !== '')
      .slice(0, MOST_COMPARED),
  ),
];

/** Several jobs, as they are read to be compared. */
export class Comparison {
  readonly jobs = signal<readonly ComparedJob[] | null>(null);
  /** By artifact. */
  readonly contents = signal<ReadonlyMap<string, Content>>(new Map());
  readonly fault = signal<string | null>(null);
  readonly #api: Api;
  readonly #ids: readonly string[];
  readonly #leaving = new AbortController();

  constructor(api: Api, ids: readonly string[]) {
    this.#api = api;
    this.#ids = ids;
  }

  async load(): Promise<void> {
    this.fault.value = null;
    try {
      const jobs = await Promise.all(this.#ids.map((id) => this.#read(id)));
      this.contents.value = await this.#contentsOf(jobs);
      this.jobs.value = jobs;
    } catch (error) {
      if (!this.#leaving.signal.aborted) this.fault.value = wordsOf(error);
    }
  }

  stop(): void {
    this.#leaving.abort();
  }

  async #read(id: string): Promise<ComparedJob> {
    const path = `v1/jobs/${encodeURIComponent(id)}`;
    const { signal } = this.#leaving;
    const [job, request, tasks] = await Promise.all([
      this.#api.get<JobView>(path, {}, signal),
      this.#api.text(`${path}/request`, signal),
      this.#api.get<TaskView[]>(`${path}/tasks`, { status: 'succeeded', limit: LOOKED_AT.tasks }, signal),
    ]);
    return comparedJob(job, request, tasks);
  }

  async #contentsOf(jobs: readonly ComparedJob[]): Promise<Map<string, Content>> {
    const ids = [...new Set(jobs.flatMap(({ request }) => artifactsIn(request)))];
    const found = await Promise.all(
      ids.slice(0, LOOKED_AT.artifacts).map(async (id): Promise<[string, Content][]> => {
        // Of one that is gone its id has to do.
        const content = await this.#api.contentOf(
          `v1/artifacts/${encodeURIComponent(id)}`,
          this.#leaving.signal,
        );
        return content === null ? [] : [[id, content]];
      }),
    );
    return new Map(found.flat());
  }
}
