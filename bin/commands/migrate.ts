import { Command, Option } from 'clipanion';
import { isPostgresAddress } from '../../actors/server/store/postgres/connect.ts';
import { BaseCommand } from '../cli/base.ts';
import { EXIT, usageError } from '../cli/exit.ts';
import { value } from '../cli/usage.ts';
import type { Output } from '../terminal/output.ts';

/** `jq-server migrate`: brings a store in PostgreSQL to this version, as a role that may. */
export class MigrateProgram extends BaseCommand {
  static override paths = [['migrate']];
  static override usage = Command.Usage({
    category: 'State',
    description: 'bring a store in PostgreSQL to the version of this program',
    details: `
      A server does that itself where its role may make tables. Where it may not, this is run before, by a role that may,
      while no server has the store. Afterwards a role that may read and write rows suffices.
    `,
    examples: [['Before the first start, and after each upgrade', '$0 --store postgres://owner@db/jq']],
  });

  store = Option.String('--store', {
    required: true,
    ...value('STORE', 'postgres://[USER@]HOST[:PORT]/DATABASE'),
  });

  protected override async run(output: Output): Promise<number> {
    if (!isPostgresAddress(this.store))
      throw usageError(
        '--store: postgres://… is wanted; a store of SQLite is brought to a new version by its server',
      );
    const { migratePostgres } = await import('../../actors/server/store/postgres/postgres-store.ts');
    const report = await migratePostgres(this.store);
    const { place, from, to } = report;
    const sentence =
      from === to ? `${place} has version ${to}` : `${place}: version ${from} before, ${to} now`;
    await output.print(output.json ? JSON.stringify(report) : sentence);
    return EXIT.done;
  }
}
