import { replyOf } from '../../gateway/client/replies.ts';
import type { ServersView } from '../../machines/schema/servers.ts';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { EXIT } from '../cli/exit.ts';
import { clientUsage } from '../cli/usage.ts';
import { ago, dateTime } from '../terminal/format.ts';
import { plain } from '../terminal/plain.ts';
import { table } from '../terminal/table.ts';

export class ServersCommand extends ClientCommand {
  static override paths = [['servers']];
  static override usage = clientUsage('servers', {
    details: `
      One server leads. On a store in PostgreSQL others may stand by, one of which takes over when it is gone; any of them
      can be asked. Under \`since\` stands when a server began to lead, or to stand by; under \`epoch\` the number of the reign, each
      larger than the one before; under \`behind\` how many events there are by now that it had not seen when it last said that
      it is there, under \`seen\` when that was. A \`silent\` one has said nothing for 5 s, or led before, and is forgotten after a minute.
      What servers were told otherwise than the one that leads, flags and credentials, stands below.
    `,
    examples: [['List the servers', 'jqctl servers']],
  });

  protected async act({ client, output }: Session): Promise<number> {
    const answer = await client.callText('listServers');
    if (output.json) await output.print(answer);
    else {
      const view = replyOf('listServers', answer);
      await output.print(listOf(view, output));
      for (const line of differing(view)) await output.print(line);
    }
    return EXIT.done;
  }
}

/** Those that would lead otherwise. */
const differing = ({ servers }: ServersView): string[] =>
  servers
    .filter(({ differs }) => differs.length > 0)
    .map(({ address, place, differs }) =>
      plain(`${address ?? place} was told otherwise than the one that leads: ${differs.join(', ')}`),
    );

function listOf({ servers, last_event_id }: ServersView, output: Session['output']): string {
  const now = Date.now() / 1000;
  const { colours } = output;
  const colour = { leading: colours.green, standing_by: colours.cyan, silent: colours.red };
  const rows = servers.map((server) => [
    plain(server.address ?? '-'),
    colour[server.status](server.status.replace('_', ' ')),
    dateTime(server.since),
    server.epoch === null ? '-' : String(server.epoch),
    String(Math.max(0, last_event_id - server.event_id)),
    plain(server.version),
    ago(now - server.last_seen_at),
    plain(server.place),
  ]);
  const columns = [
    { title: 'server' },
    { title: 'status' },
    { title: 'since' },
    { title: 'epoch', align: 'right' as const },
    { title: 'behind', align: 'right' as const },
    { title: 'version', flexible: true, optional: true },
    { title: 'seen', align: 'right' as const },
    { title: 'on', flexible: true, optional: true },
  ];
  return table(columns, rows, output);
}
