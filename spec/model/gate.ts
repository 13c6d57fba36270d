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

  /**
   * Holds the next commit, which then fails; later ones pass.
   * @param passing how many commits pass before
   */
  static failingNext({ faults }: System, passing = 0): Gate {
    const gate = new Gate();
    let left = passing;
    faults.beforeCommit = async () => {
      if (left-- > 0) return;
      delete faults.beforeCommit;
      await gate.#hold();
      throw storeFault('SQLITE_FULL');
    };
    return gate;
  }

  /**
   * Holds commits when they are durable and nobody was answered, or before that, and then they fail.
   * @param passing how many commits pass before
   */
  static forCrash({ faults }: System, durable: boolean, passing: number): Gate {
    const gate = new Gate();
    let left = passing;
    if (durable) {
      faults.afterCommit = async () => {
        if (left-- <= 0) await gate.#hold();
      };
      return gate;
    }
    faults.beforeCommit = async () => {
      if (left-- > 0) return;
      await gate.#hold();
      throw storeFault('SQLITE_IOERR');
    };
    return gate;
  }

  async #hold(): Promise<void> {
    this.wasReached = true;
    this.#tellReached();
    await this.#opened;
  }
}
