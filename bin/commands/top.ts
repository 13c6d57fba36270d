import { setTimeout as delay } from 'node:timers/promises';
import { Option } from 'clipanion';
import type { ClusterClient } from '../../gateway/client/client.ts';
import { ResponseError, UnreachableError } from '../../gateway/client/errors.ts';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { type Deadline, withDeadline } from '../cli/deadline.ts';
import { EXIT } from '../cli/exit.ts';
import { number } from '../cli/flags.ts';
import { clientUsage, value } from '../cli/usage.ts';
import { type ClusterSnapshot, clusterSnapshot } from '../jobs/cluster-snapshot.ts';
import { clusterReport } from '../terminal/cluster-report.ts';
import { Output } from '../terminal/output.ts';
import { plain } from '../terminal/plain.ts';
import { Screen } from '../terminal/screen.ts';

/** Jobs of each kind that are asked for where no screen bounds them. */
const MANY = 20;
/** Seconds over which throughput is told. */
const WINDOW = 30;
const CTRL_C = '\u0003';

export class TopCommand extends ClientCommand {
  static override paths = [['top']];
  static override usage = clientUsage('top', {
    details: `
      Fills the terminal with the numbers of the cluster, the last hour as curves, jobs (those that run first) and
      workers, and refreshes them until \`q\` or Ctrl-C. While the server is away it keeps the last view and goes
      on trying.

      Where stdout is no terminal, and with \`--json\`, it prints one snapshot and ends; so does \`--once\`.
    `,
    examples: [
      ['Watch', 'jqctl top'],
      ['A snapshot for a script', 'jqctl top --json'],
    ],
  });

  interval = Option.String('--interval', '2', value('SECONDS', 'between two refreshes (2)'));
  once = Option.Boolean('--once', false, { description: 'print one snapshot and end' });

  protected async act({ client, output }: Session): Promise<number> {
    const interval = number('--interval', this.interval, { min: 0.2, max: 3600 });
    return withDeadline(undefined, async (deadline) => {
      const { rows } = this.context.stdout as { rows?: number };
      const first = await clusterSnapshot(client, Math.max(MANY, rows ?? 0), deadline.signal);
      if (output.json) {
        const { stats, history, jobs, workers } = first;
        await output.print(JSON.stringify({ stats, history, jobs, workers }));
      } else if (this.once || output.width === undefined || this.context.env.TERM === 'dumb') {
        await output.print(clusterReport({ server: client.server, now: first, height: Infinity }, output));
      } else return this.#watch(client, first, interval, deadline);
      return EXIT.done;
    });
  }

  async #watch(
    client: ClusterClient,
    first: ClusterSnapshot,
    interval: number,
    deadline: Deadline,
  ): Promise<number> {
    const { stdout, stdin } = this.context;
    const quit = new AbortController();
    let exit: number | undefined;
    const view: View = { server: client.server, now: first, recent: [first], error: undefined };
    const draw = () => screen.draw(linesOf(view, screen.height, new Output(this.context, false)));
    let pause = new AbortController();
    const screen = new Screen(stdout, stdin, {
      key(key) {
        if (key !== 'q' && key !== 'Q' && key !== CTRL_C) return;
        exit = key === CTRL_C ? EXIT.interrupted : EXIT.done;
        quit.abort();
      },
      resize() {
        draw();
        // A larger screen has room for more than was asked for.
        pause.abort();
      },
    });
    const signal = AbortSignal.any([deadline.signal, quit.signal]);
    try {
      while (!signal.aborted) {
        draw();
        pause = new AbortController();
        const over = AbortSignal.any([signal, pause.signal]);
        await delay(interval * 1000, undefined, { signal: over }).catch(() => {});
        if (!signal.aborted) await refresh(client, view, screen.height, signal);
      }
    } finally {
      screen.close();
    }
    return exit ?? deadline.exit ?? EXIT.interrupted;
  }
}

interface View {
  server: string;
  now: ClusterSnapshot;
  /** What was seen lately, the oldest first; it tells how fast things go. */
  recent: ClusterSnapshot[];
  /** Why the view is not fresh. */
  error: string | undefined;
}

/** Looks again. The server may be away for a while; that it refuses is for good. */
async function refresh(client: ClusterClient, view: View, most: number, signal: AbortSignal): Promise<void> {
  try {
    const now = await clusterSnapshot(client, most, signal);
    view.now = now;
    view.recent = [...view.recent.filter(({ at }) => now.at - at <= WINDOW), now];
    view.error = undefined;
  } catch (error) {
    if (signal.aborted) return;
    const away = error instanceof UnreachableError || (error instanceof ResponseError && error.transient);
    if (!away) throw error;
    view.error = `${error.message}; trying again`;
  }
}

function linesOf(view: View, height: number, output: Output): string[] {
  const { red, dim } = output.colours;
  const { server, now, recent } = view;
  const lines = clusterReport({ server, now, before: recent[0], height: height - 1 }, output).split('\n');
  const foot = view.error === undefined ? dim('q to quit') : red(plain(view.error));
  return [...lines.slice(0, height - 1), foot];
}
