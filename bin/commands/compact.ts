import { Command, Option } from 'clipanion';
import { BaseCommand } from '../cli/base.ts';
import { EXIT } from '../cli/exit.ts';
import { value } from '../cli/usage.ts';
import { bytes } from '../terminal/format.ts';
import type { Output } from '../terminal/output.ts';
import { plain } from '../terminal/plain.ts';

/** `jq-server compact`: makes the file of a store as short as it may be. */
export class CompactProgram extends BaseCommand {
  static override paths = [['compact']];
  static override usage = Command.Usage({
    category: 'State',
    description: 'rewrite the store of a stopped server without the room that nothing is in',
    details: `
      The file of a store shrinks by itself when jobs are deleted. One that an earlier version made does so from then on
      when it has been rewritten once; until then, new jobs take the room of deleted ones. It needs as much free space
      as the store has, and about ten seconds for a gigabyte. Broken off, it leaves the store as it was.
    `,
    examples: [['Once, while the server is stopped', '$0 --state ./cluster-state']],
  });

  state = Option.String('--state', './cluster-state', value('DIR', 'state directory (./cluster-state)'));

  protected override async run(output: Output): Promise<number> {
    const { compactStore } = await import('../../actors/server/store/compact.ts');
    const report = await compactStore(this.state);
    const sentence = `${plain(report.path)}: ${bytes(report.before)} before, ${bytes(report.after)} now`;
    await output.print(output.json ? JSON.stringify(report) : sentence);
    return EXIT.done;
  }
}
