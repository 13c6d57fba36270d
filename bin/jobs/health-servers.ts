import { isNobody } from '../../gateway/client/beside.ts';
import { ResponseError } from '../../gateway/client/errors.ts';
import type { ServerView } from '../../machines/schema/servers.ts';
import { type Beside, type Finding, type Leading, ok, problem, warning } from './finding.ts';

export const standby = (asked: string, { server }: Leading): Finding[] =>
  server === asked
    ? []
    : [ok('server', `it stands by; store, disk and queue are those of ${server}, which leads`)];

export const unasked = ({ fault }: { fault: string }): Finding[] => [
  warning(
    'store',
    `this server stands by; ${fault}`,
    'run it where that one can be reached: jqctl doctor --server URL; jqctl servers says which leads',
  ),
];

/** Servers that would lead otherwise than the one that does. */
export const differing = (servers: readonly ServerView[]): Finding[] =>
  servers
    .filter(({ status, differs }) => status !== 'silent' && differs.length > 0)
    .map(({ address, place, differs }) =>
      warning(
        'server',
        `${address ?? place} was told otherwise than the one that leads: ${differs.join(', ')}`,
        'give both the same flags and the same files of credentials, before it takes over; files are read again at SIGHUP',
      ),
    );

/** Of an address that was told beside the one that was asked, what is wrong with it. */
export function besides({ server, said }: Beside): Finding[] {
  if (said === true) return [];
  if (said === false)
    return [
      problem(
        'server',
        `${server} is none of the servers beside: who goes on there when the others are gone comes to another queue`,
        'take it out of --server or JQ_SERVER, or start it on the same --store',
      ),
    ];
  if (isNobody(said))
    return [warning('server', said.message, 'start it, or take it out of --server or JQ_SERVER')];
  if (said instanceof ResponseError && said.denied)
    return [
      problem(
        'server',
        `${server} refuses this credential (${said.message})`,
        'credentials have to be the same at all servers: give it the file of the others, and send it SIGHUP',
      ),
    ];
  return [];
}
