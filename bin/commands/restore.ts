import type { Readable } from 'node:stream';
import { Command, Option } from 'clipanion';
import { BaseCommand } from '../cli/base.ts';
import { EXIT, usageError } from '../cli/exit.ts';
import { value } from '../cli/usage.ts';
import { backupReport } from '../terminal/backup-report.ts';
import type { Output } from '../terminal/output.ts';
import { StepLine } from '../terminal/step-line.ts';

/** `jq-server restore`: a state directory from a backup. */
export class RestoreProgram extends BaseCommand {
  static override paths = [['restore']];
  static override usage = Command.Usage({
    category: 'Backups',
    description: 'make a state directory of a backup',
    details: `
      Copies a backup into a directory that is not there yet or empty, verifies all of it, and begins a new timeline:
      workers that registered before have to register again, and can report nothing of what they did before. \`--from\`
      names a backup, a folder of backups, of which the newest is taken, or a copy of a state directory; \`-\` reads a
      tar archive from stdin. A store that is damaged is refused; objects that are damaged are told.
    `,
    examples: [
      ['The newest of a folder', '$0 --from /backup/jq --state ./cluster-state'],
      ['From another machine', 'ssh vault "cat jq.tar" | $0 --from - --state ./cluster-state'],
    ],
  });

  from = Option.String('--from', value('PATH', 'backup, or folder of backups; - reads an archive'));
  state = Option.String('--state', value('DIR', 'state directory to be made'));

  takeObjects = Option.Boolean('--take-objects', false, {
    description:
      'objects in S3 belong to the restored store from now on: the server that had them is gone for good',
  });

  protected override async run(output: Output): Promise<number> {
    if (!this.from) throw usageError('--from: name the backup, the folder of backups, or - for an archive');
    if (!this.state) throw usageError('--state: name the state directory that is to be made');
    const { setPrivateUmask } = await import('../../actors/shared/file-modes.ts');
    setPrivateUmask();
    const { stdin } = this.context;
    const isArchive = this.from === '-';
    if (isArchive && (stdin as { isTTY?: boolean }).isTTY)
      throw usageError('--from -: an archive is not for a terminal to type');
    const { restore } = await import('../../actors/server/backup/restore.ts');
    const { isWhole } = await import('../../actors/server/backup/report.ts');
    const line = new StepLine(output);
    const restored = await restore({
      from: isArchive ? (stdin as Readable) : this.from,
      state: this.state,
      takesObjects: this.takeObjects,
      onProgress: (step, done, total) => line.show(step, done, total),
    }).finally(() => line.end());
    await output.print(
      output.json ? JSON.stringify(restored) : backupReport(restored.from, restored, output.colours),
    );
    return isWhole(restored) ? EXIT.done : EXIT.failed;
  }
}
