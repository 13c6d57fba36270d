import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { listen } from './listen.ts';

/** What becomes of the connections that go through a link. */
export type LinkState =
  | 'open'
  /** All are reset, and new ones too. */
  | 'cut'
  /** Nothing comes through either way, and nobody is told: a cable is pulled, or packets are dropped. */
  | 'silent'
  /** What is asked comes through, what is answered does not. */
  | 'deaf'
  /** The far side has ended all of them, and the near side is not told. */
  | 'half_open'
  /** Everything comes through, late. */
  | 'slow';

type Direction = 'asked' | 'answered';

/** Milliseconds that each piece takes where the link is slow. */
const SLOW_MS = 150;

/** Passes connections on to a port of this machine, as well as its state lets it. */
export class FaultyLink {
  readonly #upstream: number;
  readonly #server: Server;
  readonly #sockets = { near: new Set<Socket>(), far: new Set<Socket>() };
  #state: LinkState = 'open';
  #tellChange: () => void = () => {};
  #changed: Promise<void> = Promise.resolve();

  private constructor(upstream: number) {
    this.#upstream = upstream;
    this.#server = createServer((near) => void this.#join(near));
    this.#awaitChange();
  }

  static async to(upstream: number): Promise<FaultyLink> {
    const link = new FaultyLink(upstream);
    await listen(link.#server);
    return link;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get state(): LinkState {
    return this.#state;
  }

  set state(state: LinkState) {
    this.#state = state;
    if (state === 'cut') reset(this.#sockets.near);
    if (state === 'cut' || state === 'half_open') reset(this.#sockets.far);
    this.#tellChange();
    this.#awaitChange();
  }

  close(): void {
    this.state = 'cut';
    this.#server.close();
  }

  #awaitChange(): void {
    this.#changed = new Promise((resolve) => {
      this.#tellChange = resolve;
    });
  }

  async #join(near: Socket): Promise<void> {
    this.#keep(near, 'near');
    await this.#passable('asked');
    if (this.#state === 'cut') near.resetAndDestroy();
    if (near.destroyed) return;
    const far = connect(this.#upstream, '127.0.0.1');
    this.#keep(far, 'far');
    await Promise.all([this.#carry(near, far, 'asked'), this.#carry(far, near, 'answered')]);
  }

  #keep(socket: Socket, side: 'near' | 'far'): void {
    // A fault of either is told to the other one.
    socket.on('error', () => {});
    this.#sockets[side].add(socket);
    socket.once('close', () => this.#sockets[side].delete(socket));
  }

  /** Pieces in order; the next is read when the one before is through. */
  async #carry(from: Socket, to: Socket, direction: Direction): Promise<void> {
    try {
      for await (const piece of from) {
        await this.#passable(direction);
        if (this.#state === 'slow') await delay(SLOW_MS);
        to.write(piece);
      }
    } catch {
      // It was reset, which its end tells as well.
    }
    await this.#passable(direction);
    to.destroy();
  }

  async #passable(direction: Direction): Promise<void> {
    while (this.#holds(direction)) await this.#changed;
  }

  #holds(direction: Direction): boolean {
    if (this.#state === 'deaf') return direction === 'answered';
    return this.#state === 'silent' || this.#state === 'half_open';
  }
}

function reset(sockets: ReadonlySet<Socket>): void {
  for (const socket of sockets) socket.resetAndDestroy();
}
