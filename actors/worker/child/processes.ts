/** A process, as far as it is known here. */
export interface ProcessRow {
  pid: number;
  parent: number;
  group: number;
  /** 0 where the system does not tell. */
  session: number;
  /** When it started, in units of the system that only grow: together with its id, this names it beyond doubt. */
  started: number;
  /** Ended, and not yet asked for by its parent. */
  zombie: boolean;
}

/** What a kind of system tells of processes, and how it ends them. */
export interface Processes {
  /** What names this way to look at them. */
  readonly name: string;
  /**
   * All processes of this machine, those that started before `since` where that is cheaper left out; none where the
   * system cannot tell.
   */
  table(since?: number): ProcessRow[];
  /** One of them; undefined when there is none of this id (any more). */
  rowOf(pid: number): ProcessRow | undefined;
  /**
   * Whether a process of the last `table` was started with this environment variable; false where that must not be
   * looked at.
   */
  carries(pid: number, name: string, value: string): boolean;
  /** What a `started` counts from: one of another boot says nothing. */
  boot(): string;
  /** Signals a process, or by the negative id of its leader a group. One that has ended already is no fault. */
  signal(id: number, signal: NodeJS.Signals): void;
  /** Whether the id of a group stays taken while any of it lives, also when its leader has ended. */
  readonly groups: boolean;
  /** What a worker cannot promise on such a system, in sentences. */
  readonly limits: readonly string[];
}

/** `signal` of systems that have signals. */
export function kill(id: number, signal: NodeJS.Signals): void {
  try {
    process.kill(id, signal);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // EPERM: it belongs to somebody else by now, or is a zombie (macOS).
    if (code !== 'ESRCH' && code !== 'EPERM') throw error;
  }
}
