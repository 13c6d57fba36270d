import { sleep } from '../../actors/worker/link/backoff.ts';
import { ClusterClient } from '../../gateway/client/client.ts';
import { ResponseError, UnreachableError } from '../../gateway/client/errors.ts';
import type { Seeded } from '../support/seeded.ts';
import type { PlayedLine } from './network.ts';
import type { PeerTime } from './time.ts';

interface ClientOptions {
  name: string;
  time: PeerTime;
  line: PlayedLine;
  chance: Seeded;
  /** Seconds between two things that it does, at most. */
  pace: number;
  sites: readonly string[];
  /** Whether its jobs of several tasks select the best of them. */
  selects: boolean;
  longestTimeout: number;
}

/** Somebody who submits jobs, cancels and retries some, and looks at them; with the program's own typed client. */
export class PlayedClient {
  readonly name: string;
  readonly line: PlayedLine;
  readonly #options: ClientOptions;
  readonly #client: ClusterClient;
  readonly #jobs: string[] = [];
  #submissions = 0;
  #ended = false;

  constructor(options: ClientOptions) {
    this.#options = options;
    this.name = options.name;
    this.line = options.line;
    this.#client = new ClusterClient({ server: 'http://server', dispatcher: options.line });
  }

  start(): void {
    void this.#options.time.run(() => this.#live());
  }

  /** Begins nothing new. */
  end(): void {
    this.#ended = true;
  }

  async #live(): Promise<void> {
    const { chance, pace } = this.#options;
    while (!this.#ended) {
      await sleep(chance.between(0, pace) * 1000);
      if (this.#ended) return;
      await this.#doSomething(chance.next()).catch((fault: unknown) => {
        if (!(fault instanceof ResponseError || fault instanceof UnreachableError)) throw fault;
      });
    }
  }

  async #doSomething(dice: number): Promise<void> {
    const { chance } = this.#options;
    if (dice < 0.5 || this.#jobs.length === 0) return this.#submit();
    const params = { id: chance.pick(this.#jobs.slice(-10)) };
    if (dice < 0.65) await this.#client.call('cancelJob', { params });
    else if (dice < 0.8) await this.#client.call('retryJob', { params });
    else if (dice < 0.9) await this.#client.call('getJob', { params });
    else await this.#client.call('listJobEvents', { params, query: { after_id: 0, limit: 10 } });
  }

  /** Repeats a submission under its key until it is acknowledged, as a careful client does. */
  async #submit(): Promise<void> {
    const { chance } = this.#options;
    const body = this.#jobOf(chance);
    for (let tries = 0; tries < 20 && !this.#ended; tries++) {
      try {
        const { id } = await this.#client.call('submitJob', { body });
        this.#jobs.push(id);
        return;
      } catch (fault) {
        const lasting = fault instanceof ResponseError && !fault.transient;
        if (lasting) throw fault;
        await sleep(chance.between(1, 20) * 1000);
      }
    }
  }

  #jobOf(chance: Seeded) {
    const name = `${this.name} ${++this.#submissions}`;
    const tasks = 1 + chance.below(4);
    const site = chance.chance(0.3) ? chance.pick(this.#options.sites) : null;
    return {
      type: 'demo.run',
      name,
      ...(chance.chance(0.7) ? byPath(tasks) : byContent(tasks)),
      priority: chance.below(3),
      requirements: site === null ? {} : { labels: { site } },
      retry: { max_attempts: 1 + chance.below(4), backoff_seconds: chance.chance(0.2) ? 20 : 0 },
      timeout_seconds: Math.round(chance.between(1, this.#options.longestTimeout)),
      idempotency_key: name,
      ...(this.#options.selects && tasks > 1 ? { select: { by: 'best_rmse' } } : {}),
    };
  }
}

const places = (tasks: number) => Array.from({ length: tasks }, (_, i) => i);

function byPath(tasks: number) {
  return {
    pipelines: places(tasks).map((i) => ({ kind: 'path' as const, path: `/p/${i}.yaml` })),
    dataset: { kind: 'shared_path' as const, path: '/data' },
  };
}

/** What was computed before is used again. */
function byContent(tasks: number) {
  return {
    pipelines: places(tasks).map((i) => ({ kind: 'inline_json' as const, inline: { i } })),
    dataset: { kind: 'catalog' as const, catalog_id: 'corn', sha256: 'c'.repeat(64) },
    reuse: true as const,
  };
}
