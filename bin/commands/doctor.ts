import { askBeside } from '../../gateway/client/beside.ts';
import type { ClusterClient } from '../../gateway/client/client.ts';
import { ResponseError } from '../../gateway/client/errors.ts';
import { leaderBeside } from '../../gateway/client/leading.ts';
import { PACKAGE_VERSION } from '../../gateway/version.ts';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { EXIT } from '../cli/exit.ts';
import { clientUsage } from '../cli/usage.ts';
import type { Examined, Finding } from '../jobs/finding.ts';
import { examine } from '../jobs/health.ts';
import { Series } from '../jobs/series.ts';
import { plain } from '../terminal/plain.ts';

export class DoctorCommand extends ClientCommand {
  static override paths = [['doctor']];
  static override usage = clientUsage('doctor', {
    details: `
      Looks at the server, its store and disk, the object store, the clocks, the workers, the versions of all, and the queue, and says
      what is wrong and what to do. Of store, disk, objects and queue a server that stands by knows nothing: the one that leads is asked. Of several addresses (\`--server a,b\`) each is asked whether it is there. It needs a credential that may read, and changes nothing. The exit code is 0 where
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

async function look(client: ClusterClient): Promise<Examined> {
  const { version } = await client.call('version');
  const { principal } = await client.call('getMe');
  const began = Date.now() / 1000;
  const ready = await readiness(client);
  const ended = Date.now() / 1000;
  const own = await measured(client);
  return {
    ...{ server: client.server, version, ownVersion: PACKAGE_VERSION, principal, own },
    clocks: typeof ready === 'string' ? null : { server: ready.time, own: (began + ended) / 2 },
    roundTrip: ended - began,
    leading:
      typeof ready !== 'string' && !ready.leads ? await lookBeside(client) : leadingAs(client, ready, own),
    workers: await workersOf(client),
    ...(await lookAround(client)),
  };
}

/** Why a server is not ready, where it is not. */
function readiness(client: ClusterClient) {
  return client.call('readyz').catch((error: unknown) => {
    if (error instanceof ResponseError && error.status === 503) return error.message;
    throw error;
  });
}

const measured = async (client: ClusterClient): Promise<Series> => new Series(await client.metrics());

const leadingAs = (
  { server }: ClusterClient,
  ready: string | { leads: boolean },
  metrics: Series,
): Examined['leading'] => ({ server, notReady: typeof ready === 'string' ? ready : null, metrics });

/** What the one that leads knows of store, disk and queue; a server that stands by measures none of it. */
async function lookBeside(client: ClusterClient): Promise<Examined['leading']> {
  try {
    const address = await leaderBeside(client);
    if (address === null) return { fault: 'nobody knows where the one that leads is' };
    const leader = client.at(address);
    try {
      return leadingAs(leader, await readiness(leader), await measured(leader));
    } finally {
      await leader.close();
    }
  } catch (error) {
    return { fault: `the one that leads cannot be asked from here (${(error as Error).message})` };
  }
}

/** The servers on the store, and whether the other addresses that this program was told are among them. */
async function lookAround(client: ClusterClient): Promise<Pick<Examined, 'servers' | 'beside'>> {
  const serversOf = async (asked: ClusterClient, target = {}) =>
    (await asked.call('listServers', target)).servers;
  const servers = await serversOf(client).catch(() => null);
  const isBeside = async (asked: ClusterClient, target: object) => {
    const theirs = await serversOf(asked, target);
    return servers === null || theirs.some(({ id }) => servers.some((own) => own.id === id));
  };
  return { servers, beside: await askBeside(client, isBeside) };
}

/** Null while nobody can tell, as the store is away. */
function workersOf(client: ClusterClient) {
  return client.call('listWorkers').catch((error: unknown) => {
    if (error instanceof ResponseError && error.transient) return null;
    throw error;
  });
}

function lineOf({ about, level, says, do: act }: Finding, { colours }: Session['output']): string {
  const paint = { ok: colours.green, warning: colours.yellow, problem: colours.red }[level];
  const line = `${paint(level.padEnd(7))}  ${about.padEnd(8)}  ${plain(says)}`;
  return act === undefined ? line : `${line}\n${' '.repeat(19)}${colours.dim(plain(act))}`;
}
