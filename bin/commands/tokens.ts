import { Option } from 'clipanion';
import { type ListedEntry, readAuthFile } from '../../gateway/auth/auth-file.ts';
import { rightsByName, rightsOfRoles } from '../../gateway/auth/entry.ts';
import { timeOf } from '../../gateway/auth/times.ts';
import { BaseCommand } from '../cli/base.ts';
import { EXIT, usageError } from '../cli/exit.ts';
import { lasting, word } from '../cli/flags.ts';
import { programUsage, value } from '../cli/usage.ts';
import { readUses } from '../programs/token-uses.ts';
import { counted, duration } from '../terminal/format.ts';
import type { Output } from '../terminal/output.ts';
import { plain } from '../terminal/plain.ts';
import { tokensReport } from '../terminal/tokens-report.ts';
import { editAuthFile } from '../tokens/auth-file-edit.ts';
import { added, newToken, revoked, rotated, type Wanted } from '../tokens/token-edits.ts';

export const TOKEN_ACTIONS = ['add', 'list', 'revoke', 'rotate'] as const;

const now = (): number => Date.now() / 1000;

export class TokensCommand extends BaseCommand {
  static override paths = [['tokens']];
  static override usage = programUsage('tokens', {
    details: `
      Changes the auth file of a server on this machine; no server has to run. A token is printed once, on stdout, and
      the file keeps only its SHA-256. The server takes a change over at SIGHUP, and then ends the streams and waiting
      requests of a token that is revoked; of one that expires, it does so by itself.

      \`add NAME\` makes a token with the rights of \`--role\` or \`--right\`, and the file where there is none.
      \`revoke\` takes away all tokens of a name, or the one of an id. \`rotate\` makes a new token with the rights and
      the lifetime of the old one, which goes on for the time of \`--overlap\`. \`list\` shows when each was used last,
      as the server with the state directory of \`--state\` knows it.
    `,
    examples: [
      [
        'A token for a person, for a year',
        'jqctl tokens add ann --role submitter --expires 365d --auth-file auth.yaml',
      ],
      [
        'A new one for the workers; the old one ends tomorrow',
        'jqctl tokens rotate lab --auth-file auth.yaml',
      ],
      ['Who has one', 'jqctl tokens list --auth-file auth.yaml --state ./cluster-state'],
      ['Nobody any more', 'jqctl tokens revoke ann --auth-file auth.yaml && systemctl reload jq-server'],
    ],
  });

  action = Option.String({ name: 'token action' });
  principal = Option.String({ name: 'name or id', required: false });
  authFile = Option.String('--auth-file', value('FILE', 'the auth file of the server'));
  roles = Option.Array('--role', [], value('ROLE', 'submitter, executor, viewer or admin; repeatable'));
  rights = Option.Array('--right', [], value('RIGHT', 'a single right, where no role fits; repeatable'));
  expires = Option.String(
    '--expires',
    value('TIME', 'a length such as 90d, a time such as 2027-01-31, or never'),
  );
  overlap = Option.String(
    '--overlap',
    value('TIME', 'how long the old token goes on; 0 ends it at once (24h)'),
  );
  state = Option.String('--state', './cluster-state', value('DIR', 'state directory (./cluster-state)'));

  protected async run(output: Output): Promise<number> {
    const action = word('tokens', this.action, TOKEN_ACTIONS);
    const file = this.authFile;
    if (!file) throw usageError('--auth-file: name the auth file of the server');
    this.#refuseStrangeFlags(action);
    await ACTIONS[action](this, file, output);
    return EXIT.done;
  }

  /** The name or id behind the action. */
  get which(): string {
    const text = this.principal?.trim() ?? '';
    if (text !== '' && text.length <= 200 && !/\p{Cc}/u.test(text)) return text;
    throw usageError(`jqctl tokens ${this.action}: whose token? Give the name behind it`);
  }

  /** Seconds since the epoch; null for never, undefined where nothing is said. */
  get expiresAt(): number | null | undefined {
    const text = this.expires?.trim();
    if (text === undefined) return undefined;
    if (text === 'never') return null;
    const at = timeOf(text) ?? now() + lasting('--expires', text);
    if (at > now()) return at;
    throw usageError(`--expires: ${text} has passed`);
  }

  #refuseStrangeFlags(action: (typeof TOKEN_ACTIONS)[number]): void {
    const given = {
      '--role': this.roles.length > 0 && action !== 'add',
      '--right': this.rights.length > 0 && action !== 'add',
      '--expires': this.expires !== undefined && action !== 'add' && action !== 'rotate',
      '--overlap': this.overlap !== undefined && action !== 'rotate',
    };
    const strange = Object.entries(given).find(([, isStrange]) => isStrange)?.[0];
    if (strange !== undefined) throw usageError(`${strange} means nothing for jqctl tokens ${action}`);
    if (action === 'list' && this.principal !== undefined)
      throw usageError('jqctl tokens list takes no name');
  }
}

type Act = (command: TokensCommand, file: string, output: Output) => Promise<void>;

const ACTIONS: Record<(typeof TOKEN_ACTIONS)[number], Act> = {
  async add(command, file, output) {
    const { roles, rights } = command;
    if (roles.length > 0 === rights.length > 0) {
      throw usageError('jqctl tokens add needs either --role or --right, which say what the token may do');
    }
    rightsOfRoles(roles, '--role', 'bad_option');
    rightsByName(rights, '--right', 'bad_option');
    const wanted: Wanted = {
      ...{ name: command.which, token: newToken(), now: now(), expiresAt: command.expiresAt ?? undefined },
      ...(roles.length > 0 ? { roles } : { rights }),
    };
    await editAuthFile(file, (entries) => added(entries, wanted));
    await show(wanted, file, output);
  },

  async rotate(command, file, output) {
    const overlap = overlapOf(command.overlap ?? '24h');
    const rotation = { token: newToken(), now: now(), overlap, expiresAt: command.expiresAt };
    const done: Wanted[] = [];
    await editAuthFile(file, (entries) => {
      const { edit, wanted } = rotated(entries, command.which, rotation);
      done.push(wanted);
      return edit;
    });
    const old = overlap === 0 ? 'is void' : `goes on for ${duration(overlap)}`;
    output.note(`the old token ${old}, once the server has read the file`);
    await show(done[0] as Wanted, file, output);
  },

  async revoke(command, file, output) {
    const { which } = command;
    const done: ListedEntry[] = [];
    await editAuthFile(file, (entries) => {
      const { edit, gone } = revoked(entries, which, now());
      done.push(...gone);
      return edit;
    });
    const ids = done.map(({ id, principal }) => ({ id, name: principal.name }));
    if (output.json) await output.print(JSON.stringify({ revoked: ids }));
    else
      await output.print(
        `${counted(ids.length, 'token')} less: ${ids.map(({ name, id }) => `${plain(name)} (${id})`).join(', ')}`,
      );
    output.note(takeOver(file));
  },

  async list(command, file, output) {
    const entries = readAuthFile(file);
    const uses = readUses(command.state);
    const rows = entries.map((entry) => ({
      ...{
        name: entry.principal.name,
        id: entry.id,
        roles: entry.roles ?? null,
        rights: entry.principal.rights,
      },
      ...{ created_at: entry.createdAt ?? null, expires_at: entry.expiresAt ?? null },
      ...{ last_used_at: uses.get(entry.id) ?? null, plain: entry.isPlain },
    }));
    await output.print(output.json ? JSON.stringify(rows) : tokensReport(rows, now(), output));
    const open = rows.filter(({ plain: isPlain }) => isPlain).length;
    if (open > 0) {
      output.warn(
        `${counted(open, 'token')} of ${plain(file)} can be read in it; with the next edit it holds digests alone`,
      );
    }
  },
};

function overlapOf(text: string): number {
  return text.trim() === '0' ? 0 : lasting('--overlap', text);
}

async function show({ name, token, expiresAt }: Wanted, file: string, output: Output): Promise<void> {
  const until = expiresAt === undefined ? null : Math.round(expiresAt);
  if (output.json) await output.print(JSON.stringify({ name, token, expires_at: until }));
  else await output.print(token);
  output.note(`this is the token of ${plain(name)}; it is kept nowhere and shown once`);
  output.note(takeOver(file));
}

const takeOver = (file: string): string =>
  `a server that runs with --auth-file ${plain(file)} takes it over at SIGHUP`;
