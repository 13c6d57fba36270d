import { type System, storeFault } from './system.ts';

/** Holds one commit of the system until it is released. */
export class Gate {
  /** Resolves when a commit has come to the gate. */
  readonly reached: Promise<void>;
  release: () => void = () => {};
  wasReached = false;
  readonly #opened: Promise<void>;
  #tellReached: () => void = () => {};

  private constructor() {
    this.reached = new Promise((resolve) => {
      this.#tellReached = resolve;
    });
    this.#opened = new Promise((resolve) => {
      this.release = resolve;
    });
  }

  /** Holds the next commit before it is made; later ones pass. */
  static beforeNext({ faults }: System): Gate {
    const gate = new Gate();
    faults.beforeCommit = async () => {
      delete faults.beforeCommit;
      await gate.#hold();
    };
    return gate;
  }

  /** Holds the next commit, which then fails; later ones pass. */
  static failingNext({ faults }: System): Gate {
    const gate = new Gate();
    faults.beforeCommit = async () => {
      delete faults.beforeCommit;
      await gate.#hold();
      throw storeFault('SQLITE_FULL');
    };
    return gate;
  }

  /** Holds commits when they are durable and nobody was answered, or before that, and then they fail. */
  static forCrash({ faults }: System, durable: boolean): Gate {
    const gate = new Gate();
    if (durable) faults.afterCommit = () => gate.#hold();
    else {
      faults.beforeCommit = async () => {
        await gate.#hold();
        throw storeFault('SQLITE_IOERR');
      };
    }
    return gate;
  }

  async #hold(): Promise<void> {
    this.wasReached = true;
    this.#tellReached();
    await this.#opened;
  }
}
