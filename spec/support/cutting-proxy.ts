import { connect, createServer, type Socket } from 'node:net';
import type { TestContext } from 'node:test';
import { listen } from './listen.ts';

/** When a connection is cut, as seen from who asks. */
export type Cut =
  /** Instead of passing on what is asked. */
  | 'before'
  /** Once it has been passed on. */
  | 'during'
  /** Instead of passing on the answer. */
  | 'after';

/** Passes bytes on in both ways, and cuts all connections at a chosen moment. */
export interface CuttingProxy {
  readonly port: number;
  /** Resolves when a connection was cut so. @param marked what the request holds with which it happens */
  cut(when: Cut, marked?: string): Promise<void>;
  /** Whether new connections are refused. */
  refuses: boolean;
  /** Cuts all connections now. */
  cutAll(): void;
}

export async function cuttingProxy(t: TestContext, upstream: number): Promise<CuttingProxy> {
  const pairs = new Set<{ from: Socket; to: Socket }>();
  let armed: { when: Cut; marked: string; done(): void } | null = null;
  let refuses = false;
  const cutAll = () => {
    for (const { from, to } of pairs) {
      from.destroy();
      to.destroy();
    }
    pairs.clear();
  };
  const fire = () => {
    const { done } = armed as NonNullable<typeof armed>;
    armed = null;
    cutAll();
    done();
  };
  const server = createServer((from) => {
    if (refuses) return void from.destroy();
    const to = connect(upstream, '127.0.0.1');
    const pair = { from, to };
    pairs.add(pair);
    // Whether the answer to come is the one that is not passed on.
    let isLast = false;
    from.on('data', (chunk) => {
      if (armed === null || !chunk.includes(armed.marked)) return void to.write(chunk);
      if (armed.when === 'before') return void fire();
      if (armed.when === 'during') return void to.write(chunk, fire);
      isLast = true;
      to.write(chunk);
    });
    to.on('data', (chunk) => {
      if (isLast && armed !== null) fire();
      else from.write(chunk);
    });
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      one.on('error', () => {});
      one.on('close', () => {
        pairs.delete(pair);
        other.destroy();
      });
    }
  });
  const { port } = await listen(server);
  t.after(() => {
    cutAll();
    server.close();
  });
  return {
    port,
    cut: (when, marked = '') =>
      new Promise((done) => {
        armed = { when, marked, done };
      }),
    get refuses() {
      return refuses;
    },
    set refuses(value) {
      refuses = value;
    },
    cutAll,
  };
}
