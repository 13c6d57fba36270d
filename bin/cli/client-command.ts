import { Option } from 'clipanion';
import { ClusterClient } from '../../gateway/client/client.ts';
import type { Output } from '../terminal/output.ts';
import { BaseCommand } from './base.ts';
import { caOf, caWords } from './ca.ts';
import { serverAddress } from './flags.ts';
import { tokenFileWarning, tokenFileWords, tokenOf } from './token.ts';
import { value } from './usage.ts';

/** What a command of a client works with. */
export interface Session {
  client: ClusterClient;
  output: Output;
}

/** A command that talks to a server: `--server`, `--token`, and a client that is closed at the end. */
export abstract class ClientCommand extends BaseCommand {
  server = Option.String(
    '--server',
    value('URL', 'address of the server (JQ_SERVER, else http://127.0.0.1:8765), or several with commas'),
  );
  token = Option.String('--token', value('TOKEN', 'credential (better in JQ_TOKEN: others see arguments)'));
  tokenFile = Option.String('--token-file', tokenFileWords);
  ca = Option.String('--ca', caWords);

  protected abstract act(session: Session): Promise<number>;

  protected override async run(output: Output): Promise<number> {
    const { env } = this.context;
    const client = new ClusterClient({
      server: serverAddress(this.server, env),
      token: tokenOf(this, env),
      ca: caOf(this.ca, env),
    });
    const warning = await tokenFileWarning(this.tokenFile);
    if (warning !== undefined) output.warn(warning);
    try {
      return await this.act({ client, output });
    } finally {
      await client.close();
    }
  }
}
