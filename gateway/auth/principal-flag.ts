import { StartError } from '../../machines/protocol/start-error.ts';
import { type Entry, idOf, rightsOfRoles } from './entry.ts';
import { checkedDigest } from './secret.ts';

const FORM = 'NAME:TOKEN:ROLE[,ROLE]';

/**
 * Reads `--principal NAME:TOKEN:ROLE[,ROLE]`. The name ends at the first colon and the roles begin behind the
 * last one, so a token may hold colons. A message never repeats the token.
 * @throws StartError `bad_principal` or `bad_token`
 */
export function parsePrincipal(flag: string): Entry {
  const first = flag.indexOf(':');
  const last = flag.lastIndexOf(':');
  if (first < 0) throw new StartError('bad_principal', `--principal must have the form ${FORM}`);
  const name = flag.slice(0, first).trim();
  if (name === '')
    throw new StartError('bad_principal', `--principal has an empty name; its form is ${FORM}`);
  const source = `--principal ${name}`;
  if (first === last) {
    throw new StartError('bad_principal', `${source} has one colon only; its form is ${FORM}`);
  }
  const roles = flag
    .slice(last + 1)
    .split(',')
    .map((role) => role.trim());
  const rights = rightsOfRoles(roles, source, 'bad_principal');
  const digest = checkedDigest(flag.slice(first + 1, last), source);
  return { digest, id: idOf(digest), principal: { name, rights }, source };
}
