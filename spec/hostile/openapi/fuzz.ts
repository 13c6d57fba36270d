import fc from 'fast-check';
import type { Target } from '../target.ts';
import { assertDocumented } from './answers.ts';
import { ApiDocument, type Operation } from './document.ts';
import { send } from './exchange.ts';
import { type HostileRequest, requestsTo } from './requests.ts';
import { World } from './world.ts';

export interface FuzzOptions {
  seed: number;
  /** Requests to each operation. */
  runs: number;
}

/** What came of the requests: how many, and how often each status was answered. */
export interface Tally {
  requests: number;
  valid: number;
  statuses: Map<number, number>;
}

/** A server, its own description, and what exists on it. */
export class Fuzzer {
  readonly document: ApiDocument;
  readonly tally: Tally = { requests: 0, valid: 0, statuses: new Map() };
  readonly #target: Target;
  readonly #world: World;

  private constructor(target: Target, document: ApiDocument, world: World) {
    this.#target = target;
    this.document = document;
    this.#world = world;
  }

  static async against(target: Target): Promise<Fuzzer> {
    return new Fuzzer(target, await ApiDocument.of(target.url), await World.on(target));
  }

  /**
   * Sends requests to one operation; rejects, with the seed and the smallest one, when an answer is not as documented.
   */
  async run(operation: Operation, { seed, runs }: FuzzOptions): Promise<void> {
    await this.#world.refresh(operation.id);
    const property = fc.asyncProperty(requestsTo(this.document, operation), async (make) => {
      const request = make(this.#world);
      try {
        await this.#exchange(operation, request);
      } catch (fault) {
        throw new Error(`${shown(request)}\n${(fault as Error).message}`, { cause: fault });
      }
    });
    await fc.assert(property, { seed, numRuns: runs, includeErrorInReport: true });
    await this.#target.assertUnharmed(`${runs} requests to ${operation.id}, seed ${seed}`);
  }

  /** The operation that a request reaches when its method is another one's. */
  #meant(operation: Operation, request: HostileRequest): Operation {
    const method = request.method.toUpperCase().replace('HEAD', 'GET');
    const { operations } = this.document;
    return operations.find((other) => other.path === operation.path && other.method === method) ?? operation;
  }

  async #exchange(operation: Operation, request: HostileRequest): Promise<void> {
    const answer = await send(this.#target.port, request);
    this.tally.requests++;
    if (request.valid) this.tally.valid++;
    if (answer === null) return;
    this.tally.statuses.set(answer.status, (this.tally.statuses.get(answer.status) ?? 0) + 1);
    assertDocumented(this.document, this.#meant(operation, request), request, answer);
  }
}

function shown({ method, target, headers, body }: HostileRequest): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${target}`, ...lines, '', JSON.stringify(body?.toString('latin1').slice(0, 2000))].join(
    '\n',
  );
}
