import { ResponseError } from '../../gateway/client/errors.ts';
import { PACKAGE_VERSION } from '../../gateway/version.ts';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { EXIT } from '../cli/exit.ts';
import { clientUsage } from '../cli/usage.ts';
import { type Examined, examine, type Finding } from '../jobs/health.ts';
import { Series } from '../jobs/series.ts';
import { plain } from '../terminal/plain.ts';

export class DoctorCommand extends ClientCommand {
  static override paths = [['doctor']];
  static override usage = clientUsage('doctor', {
    details: `
      Looks at the server, its store and disk, the clocks, the workers, the versions of all, and the queue, and says
      what is wrong and what to do. It needs a credential that may read, and changes nothing. The exit code is 0 where
      nothing keeps people from their work, also with warnings, and 1 where something does; a server that does not
      answer is exit code 4. \`--json\` prints \`{ok, findings: [{about, level, says, do}]}\`, each level being \`ok\`,
      \`warning\` or \`problem\`.
    `,
    examples: [
      ['What is wrong', 'jqctl doctor'],
      ['In a script', 'jqctl doctor --json || notify-the-operator'],
    ],
  });

  protected async act({ client, output }: Session): Promise<number> {
    const findings = examine(await look(client));
    const isWell = findings.every(({ level }) => level !== 'problem');
    if (output.json) await output.print(JSON.stringify({ ok: isWell, findings }));
    else for (const finding of findings) await output.print(lineOf(finding, output));
    return isWell ? EXIT.done : EXIT.failed;
  }
}

async function look(client: Session['client']): Promise<Examined> {
  const { version } = await client.call('version');
  const { principal } = await client.call('getMe');
  const began = Date.now() / 1000;
  const ready = await client.call('readyz').catch((error: unknown) => {
    if (error instanceof ResponseError && error.status === 503) return error.message;
    throw error;
  });
  const ended = Date.now() / 1000;
  return {
    ...{ server: client.server, version, ownVersion: PACKAGE_VERSION, principal },
    leader: typeof ready === 'string' || ready.leads ? null : await leaderOf(client),
    notReady: typeof ready === 'string' ? ready : null,
    clocks: typeof ready === 'string' ? null : { server: ready.time, own: (began + ended) / 2 },
    roundTrip: ended - began,
    metrics: new Series(await client.metrics()),
    workers: await client.call('listWorkers'),
  };
}

async function leaderOf(client: Session['client']): Promise<string> {
  const { servers } = await client.call('listServers');
  return servers.find(({ epoch }) => epoch !== null)?.address ?? 'URL';
}

function lineOf({ about, level, says, do: act }: Finding, { colours }: Session['output']): string {
  const paint = { ok: colours.green, warning: colours.yellow, problem: colours.red }[level];
  const line = `${paint(level.padEnd(7))}  ${about.padEnd(8)}  ${plain(says)}`;
  return act === undefined ? line : `${line}\n${' '.repeat(19)}${colours.dim(plain(act))}`;
}
