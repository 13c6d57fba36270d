import { Option } from 'clipanion';
import { compose } from '../../machines/json/raw.ts';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { usageError } from '../cli/exit.ts';
import { priorityOf, rawParams, reuseFlag, reuseOf, tagFlag, word } from '../cli/flags.ts';
import { clientUsage, value } from '../cli/usage.ts';
import { sending } from '../cli/waiting-command.ts';
import { jobFromText } from '../jobs/submit/job-file.ts';
import { sendJob } from '../jobs/submit/send-job.ts';

export class RunCommand extends sending(ClientCommand) {
  static override paths = [['run']];
  static override usage = clientUsage('run', {
    details: `
      Runs every pipeline on every dataset. What exists on this machine (relative paths count from the current
      directory) is uploaded with \`--upload\`; without it, paths are those of the workers. A parameter's value is JSON where it reads as JSON, with numbers as they
      are written, and text otherwise.
    `,
    examples: [
      [
        'Two pipelines on a local folder',
        'jqctl run --lib mljs --pipeline pls.yaml --pipeline snv.yaml --dataset ./gasoline --upload --wait',
      ],
      [
        'With parameters',
        'jqctl run --lib nirs4all --pipeline p.yaml --dataset /data/x --param random_state=42',
      ],
    ],
  });

  lib = Option.String('--lib', value('LIB', 'the analysis library, such as mljs or nirs4all'));
  pipelines = Option.Array('--pipeline', [], value('PATH', 'pipeline file; repeatable'));
  datasets = Option.Array('--dataset', [], value('PATH', 'dataset folder; repeatable'));
  params = Option.Array(
    '--param',
    [],
    value('PARAM', 'NAME=VALUE, a keyword parameter of the run; repeatable'),
  );
  name = Option.String('--name', value('NAME', 'name of the job'));
  note = Option.String('--note', value('TEXT', 'what is to be known of it'));
  tags = tagFlag();
  priority = Option.String('--priority', value('N', 'larger first (0)'));
  rankMetric = Option.String('--rank-metric', value('METRIC', 'what the ranking goes by (best_rmse)'));
  rankMode = Option.String('--rank-mode', value('MODE', 'min or max'));
  reuse = reuseFlag();

  protected async act(session: Session): Promise<number> {
    const options = this.sendOptions();
    return sendJob(session, jobFromText(this.#text(), 'the job'), options);
  }

  #text(): string {
    if (this.lib === undefined) throw usageError('--lib is missing', 'such as --lib mljs');
    if (this.pipelines.length === 0) throw usageError('--pipeline is missing', 'name a pipeline file');
    if (this.datasets.length === 0) throw usageError('--dataset is missing', 'name a dataset folder');
    const params = Object.entries(rawParams(this.params));
    return compose({
      type: `${this.lib}.run`,
      name: this.name,
      note: this.note,
      tags: this.tags.length > 0 ? this.tags : undefined,
      priority: this.priority === undefined ? undefined : priorityOf(this.priority),
      pipelines: this.pipelines.map((path) => ({ kind: 'path', path })),
      datasets: this.datasets.map((path) => ({ kind: 'shared_path', path })),
      params: params.length === 0 ? undefined : Object.fromEntries(params),
      rank_metric: this.rankMetric,
      reuse: reuseOf(this.reuse),
      rank_mode: this.rankMode === undefined ? undefined : word('--rank-mode', this.rankMode, ['min', 'max']),
    });
  }
}
