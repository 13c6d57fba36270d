import { Command, Option } from 'clipanion';
import { isPostgresAddress } from '../../actors/server/store/postgres/connect.ts';
import { BaseCommand } from '../cli/base.ts';
import { EXIT, usageError } from '../cli/exit.ts';
import { value } from '../cli/usage.ts';
import type { Output } from '../terminal/output.ts';
import { plain } from '../terminal/plain.ts';
import { StepLine } from '../terminal/step-line.ts';

/** `jq-server copy`: brings all rows from one store to another. */
export class CopyProgram extends BaseCommand {
  static override paths = [['copy']];
  static override usage = Command.Usage({
    category: 'State',
    description: 'copy the store of a stopped server into PostgreSQL, or back into a file',
    details: `
      Copies every row into a store that is empty, then compares all of them. Broken off, it goes on where it was when it is
      run again; until it is done, no server takes the new store. The artifacts stay where they are: start the server on the
      same state directory, or bring \`objects/\` along. The old store stays as it was; do not serve from it again.
    `,
    examples: [
      ['Into PostgreSQL', '$0 --from sqlite:./cluster-state --to postgres://jq@db.lab/jq'],
      ['Back into the state directory', '$0 --from postgres://jq@db.lab/jq --to sqlite:./new-state'],
    ],
  });

  from = Option.String('--from', { required: true, ...value('STORE', 'sqlite:DIR or postgres://…') });
  to = Option.String('--to', { required: true, ...value('STORE', 'sqlite:DIR or postgres://…') });

  protected override async run(output: Output): Promise<number> {
    const [from, to] = [placeOf(this.from, '--from'), placeOf(this.to, '--to')];
    const { setPrivateUmask } = await import('../../actors/shared/file-modes.ts');
    setPrivateUmask();
    const { copyStore } = await import('../../actors/server/copy/copy-store.ts');
    const line = new StepLine(output);
    const report = await copyStore({
      ...{ from, to },
      onProgress: (table, pass) => line.show(`${pass} ${table}`),
    }).finally(() => line.end());
    const sentence = `${plain(report.to)} has the ${report.rows} rows of ${plain(report.from)}, ${report.written} of them copied now; all are the same`;
    await output.print(output.json ? JSON.stringify(report) : sentence);
    return EXIT.done;
  }
}

/** An address, or a state directory. */
function placeOf(text: string, flag: string): string {
  if (isPostgresAddress(text)) return text;
  if (text.startsWith('sqlite:') && text.length > 'sqlite:'.length) return text.slice('sqlite:'.length);
  throw usageError(`${flag}: neither postgres://… nor sqlite:DIR`);
}
