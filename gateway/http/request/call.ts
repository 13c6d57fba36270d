import type { Principal } from '../../../machines/protocol/rights.ts';
import type { Backend } from '../../backend.ts';
import type { Call, ServiceFacts } from '../../contract/route.ts';
import type { Service } from '../service.ts';
import type { Exchange } from './exchange.ts';

/** A checked request. */
export class HttpCall<B> implements Call<unknown, B> {
  readonly principal: Principal;
  readonly params: Record<string, string>;
  readonly query: unknown;
  readonly body: B;
  readonly backend: Backend;
  readonly facts: ServiceFacts;
  /** What the line of the log says that it was about; an id of the path is known. */
  readonly about: Record<string, string | number> = {};
  readonly #exchange: Exchange;

  constructor(
    request: { principal: Principal; params: Record<string, string>; query: unknown; exchange: Exchange },
    service: Pick<Service, 'backend' | 'facts'>,
    body: B,
  ) {
    this.principal = request.principal;
    this.params = request.params;
    this.query = request.query;
    this.body = body;
    this.backend = service.backend;
    this.facts = service.facts;
    this.#exchange = request.exchange;
  }

  readonly note = (about: Readonly<Record<string, string | number>>): void => {
    Object.assign(this.about, about);
  };

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }
}
