import { resolve } from 'node:path';
import { Option } from 'clipanion';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { EXIT } from '../cli/exit.ts';
import { serverAddress } from '../cli/flags.ts';
import { LOG_LEVELS, logLevel } from '../cli/log-level.ts';
import { announce, serveUntilSignal } from '../cli/serve.ts';
import { tokenSource } from '../cli/token.ts';
import { clientUsage, value } from '../cli/usage.ts';
import { fleetReport } from '../terminal/fleet-report.ts';

/** A command that is about the fleet of a file. */
abstract class FleetCommandBase extends ClientCommand {
  file = Option.String({ name: 'FILE' });

  /** What the workers of the fleet are told of the server. A credential in an argument would be seen by all. */
  protected get workerFlags(): string[] {
    const { env } = this.context;
    const { file } = tokenSource(this, env);
    const ca = this.ca ?? (env.JQ_CA || undefined);
    return [
      ...['--server', serverAddress(this.server, env)],
      ...(file === undefined ? [] : ['--token-file', resolve(file)]),
      ...(ca === undefined ? [] : ['--ca', resolve(ca)]),
    ];
  }
}

export class FleetCommand extends FleetCommandBase {
  static override paths = [['fleet']];
  static override usage = clientUsage('fleet', {
    details: `
      Keeps workers coming and going with what waits, between \`min\` and \`max\` of each template of the file: as jobs of
      Slurm, or as processes of this machine. It asks only for what could run what would be leased now, and cancels no worker
      that has a task; a worker that has nothing to do ends by itself. What is there it sees at Slurm and at the server,
      so that it may be ended and started at any time. It runs until SIGTERM or Ctrl-C: then it gives up what has not
      started and waits until its workers have finished what they run; a second one ends it at once, while they go on to
      their ends. Its workers have its environment, and so \`JQ_TOKEN\`.
    `,
    examples: [
      ['On the login node of a cluster', 'jqctl fleet fleet.yaml'],
      ['What it wants, and why', 'jqctl fleet status fleet.yaml'],
    ],
  });

  keep = Option.Boolean('--keep', false, { description: 'at its end, leave its workers as they are' });
  logLevel = Option.String('--log-level', 'info', value('LEVEL', `${LOG_LEVELS.join(', ')} (info)`));
  logFile = Option.String('--log-file', value('FILE', 'write the log to this file, not to stderr'));

  protected async act({ client, output }: Session): Promise<number> {
    const [{ readFleetFile }, { startFleet }, { openLog }] = await Promise.all([
      import('../programs/fleet-file.ts'),
      import('../programs/fleet.ts'),
      import('../programs/log.ts'),
    ]);
    const fleet = await readFleetFile(this.file);
    const { log, reopen, close } = await openLog('jqctl fleet', {
      logLevel: logLevel(this.logLevel),
      logFile: this.logFile,
    });
    try {
      const { workerFlags } = this;
      const running = await startFleet({ fleet, client, workerFlags, log }, { keeps: this.keep });
      return await serveUntilSignal({ ...running, reopenLog: reopen }, output, () =>
        announce(output, { event: 'started', fleet: fleet.name }, `keeps the fleet ${fleet.name}`),
      );
    } finally {
      close();
    }
  }
}

export class FleetStatusCommand extends FleetCommandBase {
  static override paths = [['fleet', 'status']];
  static override usage = clientUsage('fleet status', {
    details: `
      What each template of the file has, what it would ask for now, and why not for more; and what waits that none of them
      could run, with what keeps each of them. It looks for itself, and changes nothing.
    `,
    examples: [['What it wants, and why', 'jqctl fleet status fleet.yaml']],
  });

  protected async act({ client, output }: Session): Promise<number> {
    const [{ readFleetFile }, { isKept, openFleet }, { openLog }] = await Promise.all([
      import('../programs/fleet-file.ts'),
      import('../programs/fleet.ts'),
      import('../programs/log.ts'),
    ]);
    const fleet = await readFleetFile(this.file);
    const { log } = await openLog('jqctl fleet', { logLevel: 'silent' });
    const keeper = await openFleet({ fleet, client, workerFlags: this.workerFlags, log });
    const { plan, blind } = await keeper.look();
    const kept = await isKept(fleet);
    const engines = Object.fromEntries(blind);
    await output.print(
      output.json
        ? JSON.stringify({ fleet: fleet.name, kept, ...plan, unseen: engines })
        : fleetReport(fleet, { plan, blind }, kept, output),
    );
    return EXIT.done;
  }
}
