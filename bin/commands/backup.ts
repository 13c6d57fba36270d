import { Command, Option } from 'clipanion';
import { BaseCommand } from '../cli/base.ts';
import { EXIT, usageError } from '../cli/exit.ts';
import { integer } from '../cli/flags.ts';
import { value } from '../cli/usage.ts';
import { backupReport } from '../terminal/backup-report.ts';
import type { Output } from '../terminal/output.ts';
import { StepLine } from '../terminal/step-line.ts';

/** `jq-server backup`: a state directory as it is at one moment, in a folder with earlier ones. */
export class BackupProgram extends BaseCommand {
  static override paths = [['backup']];
  static override usage = Command.Usage({
    category: 'Backups',
    description: 'save a state directory, beside a running server or without one',
    details: `
      Makes a backup in the folder of \`--to\`, named by its moment: the store as it is at that moment and the objects
      that it names, each compared with its SHA-256. Objects that the backup before has are not copied again where the
      file system can give a file two names. It has its name only once all of it is on the disk; one that was broken
      off is gone on with by the next. \`--to -\` writes a tar archive to stdout instead. Progress is told on stderr.
    `,
    examples: [
      [
        'Into a folder, of which the last seven are kept',
        '$0 --state ./cluster-state --to /backup/jq --keep 7',
      ],
      ['To another machine', '$0 --to - | ssh vault "cat > jq.tar"'],
    ],
  });

  state = Option.String('--state', './cluster-state', value('DIR', 'state directory (./cluster-state)'));
  to = Option.String('--to', value('DIR', 'folder of backups; - writes an archive'));
  keep = Option.String('--keep', value('N', 'how many backups are kept in the folder (all)'));

  protected override async run(output: Output): Promise<number> {
    const keep = this.keep === undefined ? undefined : integer('--keep', this.keep, { min: 1, max: 100_000 });
    const { setPrivateUmask } = await import('../../actors/shared/file-modes.ts');
    setPrivateUmask();
    if (!this.to) throw usageError('--to: name the folder of backups, or - for an archive');
    if (this.to === '-') return this.#stream(output, keep);
    const { makeBackup } = await import('../../actors/server/backup/backup.ts');
    const { isWhole } = await import('../../actors/server/backup/report.ts');
    const { becomeOwner } = await import('../../actors/shared/owner.ts');
    // All of the program has been read: its own folder may be out of the reach of that user.
    becomeOwner(this.state, this.to);
    const line = new StepLine(output);
    const made = await makeBackup({
      ...{ state: this.state, to: this.to, keep },
      onProgress: (step, done, total) => line.show(step, done, total),
    }).finally(() => line.end());
    await output.print(output.json ? JSON.stringify(made) : backupReport(made.path, made, output.colours));
    return isWhole(made) ? EXIT.done : EXIT.failed;
  }

  async #stream(output: Output, keep: number | undefined): Promise<number> {
    if (keep !== undefined) throw usageError('--keep: an archive is kept by whoever takes it');
    if (output.json) throw usageError('--json: the archive takes stdout');
    const { stdout } = this.context;
    if ((stdout as { isTTY?: boolean }).isTTY) throw usageError('--to -: an archive is not for a terminal');
    const { streamBackup } = await import('../../actors/server/backup/stream.ts');
    const { isWhole } = await import('../../actors/server/backup/report.ts');
    const line = new StepLine(output);
    const report = await streamBackup(this.state, stdout, (step, done, total) =>
      line.show(step, done, total),
    ).finally(() => line.end());
    output.note(backupReport('stdout', report, output.noteColours));
    return isWhole(report) ? EXIT.done : EXIT.failed;
  }
}
