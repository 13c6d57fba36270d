import { Command, Option } from 'clipanion';
import { s3Location } from '../../actors/server/blobs/s3/location.ts';
import { BaseCommand } from '../cli/base.ts';
import { EXIT, usageError } from '../cli/exit.ts';
import { value } from '../cli/usage.ts';
import { copyReport } from '../terminal/copy-report.ts';
import type { Output } from '../terminal/output.ts';
import { StepLine } from '../terminal/step-line.ts';

/** `jq-server copy-objects`: brings the bytes of artifacts to another place. */
export class CopyObjectsProgram extends BaseCommand {
  static override paths = [['copy-objects']];
  static override usage = Command.Usage({
    category: 'State',
    description: 'bring the bytes of artifacts from the state directory to S3, back, or to another bucket',
    details: `
      Copies every object that an artifact names to the place of \`--to\`, compared with its SHA-256 on the way. What is
      there already is not copied again, so that it can be broken off, and run beside the server first. Once the
      server is stopped, it copies what is left, and the store has its objects there from then on. What was copied stays where it was;
      remove it when you have seen that all is well.
    `,
    examples: [
      ['To a bucket', '$0 --state ./cluster-state --to s3://lab/jq'],
      ['Back into the state directory', '$0 --state ./cluster-state --to folder'],
    ],
  });

  state = Option.String('--state', './cluster-state', value('DIR', 'state directory (./cluster-state)'));
  to = Option.String('--to', value('PLACE', 's3://BUCKET[/PREFIX][?path-style], or folder'));

  protected override async run(output: Output): Promise<number> {
    if (!this.to) throw usageError('--to: name the place, as s3://BUCKET/PREFIX, or folder');
    const to = this.to === 'folder' ? undefined : s3Location(this.to, '--to');
    const { setPrivateUmask } = await import('../../actors/shared/file-modes.ts');
    setPrivateUmask();
    const { copyObjects } = await import('../../actors/server/backup/copy-objects.ts');
    const line = new StepLine(output);
    const report = await copyObjects({
      ...{ state: this.state, to },
      onProgress: (step, done, total) => line.show(step, done, total),
    }).finally(() => line.end());
    await output.print(output.json ? JSON.stringify(report) : copyReport(report));
    return report.lost.length === 0 ? EXIT.done : EXIT.failed;
  }
}
