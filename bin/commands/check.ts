import { Option } from 'clipanion';
import { BaseCommand } from '../cli/base.ts';
import { EXIT, usageError } from '../cli/exit.ts';
import { paramsOf } from '../cli/flags.ts';
import { programUsage, value } from '../cli/usage.ts';
import { findChecker } from '../jobs/submit/check-inputs.ts';
import { datasetReport } from '../terminal/dataset-report.ts';
import type { Output } from '../terminal/output.ts';
import { plain } from '../terminal/plain.ts';

export class CheckCommand extends BaseCommand {
  static override paths = [['check']];
  static override usage = programUsage('check', {
    details: `
      Reads a dataset on this machine as the runner of the library would: how many samples and variables, the axis,
      the reference values, what is left out, and a picture of the spectra. What the runner would refuse is refused
      here in the same words. \`submit --upload\` and \`run --upload\` look first in the same way.
    `,
    examples: [
      ['As nirs4all reads it', 'jqctl check ./gasoline --lib nirs4all --python .venv/bin/python'],
      ['A folder', 'jqctl check ./gasoline'],
      [
        'One table with several targets, and a pipeline',
        'jqctl check grain.csv --param target=octane --pipeline pls.yaml',
      ],
    ],
  });

  dataset = Option.String({ name: 'dataset' });
  lib = Option.String('--lib', 'mljs', value('LIB', 'the analysis library (mljs)'));
  pipelines = Option.Array('--pipeline', [], value('PATH', 'pipeline file that is to run on it; repeatable'));
  params = Option.Array('--param', [], value('PARAM', 'NAME=VALUE, as the job would have it; repeatable'));

  python = Option.String('--python', value('INTERPRETER', 'the Python that has nirs4all (python3)'));

  protected async run(output: Output): Promise<number> {
    const check = await findChecker(this.lib, this.python);
    if (!check) {
      throw usageError(
        `datasets of ${this.lib} cannot be looked at here`,
        'jqctl check knows mljs, and nirs4all with a --python that has it',
      );
    }
    const report = await check({
      dataset: this.dataset,
      pipelines: this.pipelines.map((path) => ({ path })),
      params: paramsOf(this.params),
    });
    if (output.json) {
      const { spectra: _, ...facts } = report;
      await output.print(JSON.stringify({ dataset: this.dataset, ...facts }));
    } else {
      await output.print(datasetReport(this.dataset, report, output));
    }
    for (const warning of report.warnings) output.warn(plain(warning));
    return EXIT.done;
  }
}
