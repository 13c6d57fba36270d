import { Command, Option } from 'clipanion';
import { BaseCommand } from '../cli/base.ts';
import { EXIT } from '../cli/exit.ts';
import { value } from '../cli/usage.ts';
import type { Output } from '../terminal/output.ts';
import { stateReport } from '../terminal/state-report.ts';
import { StepLine } from '../terminal/step-line.ts';

/** `jq-server check`: whether a state directory is whole. */
export class CheckStateProgram extends BaseCommand {
  static override paths = [['check']];
  static override usage = Command.Usage({
    category: 'Checks',
    description: 'verify a state directory, beside a running server or without one',
    details: `
      Reads all of the store (SQLite's \`integrity_check\`), compares the rows that must fit together, and reads every
      object: its size, its SHA-256, whether an artifact names it. Changes nothing. Objects that no artifact names
      are named and no damage. Progress goes to stderr.
    `,
    examples: [
      ['Before and after a copy', '$0 --state ./cluster-state'],
      ['For a program', '$0 --state ./cluster-state --json'],
    ],
  });

  state = Option.String('--state', './cluster-state', value('DIR', 'state directory (./cluster-state)'));

  protected override async run(output: Output): Promise<number> {
    const { checkState } = await import('../../actors/server/check/check.ts');
    const line = new StepLine(output);
    const report = await checkState(this.state, (step, done, total) =>
      line.show(`checking ${step}`, done, total),
    ).finally(() => line.end());
    await output.print(output.json ? JSON.stringify(report) : stateReport(report, output.colours));
    return report.ok ? EXIT.done : EXIT.failed;
  }
}
