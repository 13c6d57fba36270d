import { Option } from 'clipanion';
import { artifactBytes } from '../../gateway/client/artifact-bytes.ts';
import { rankedName } from '../../machines/ranking/steps.ts';
import { parseCurves } from '../../machines/results/curve-file.ts';
import { parsePredictions } from '../../machines/results/predictions.ts';
import type { ArtifactView } from '../../machines/schema/views.ts';
import type { Session } from '../cli/client-command.ts';
import { EXIT, usageError } from '../cli/exit.ts';
import { JobCommand } from '../cli/job-command.ts';
import { jobUsage, value } from '../cli/usage.ts';
import { taskFound } from '../jobs/find/find-task.ts';
import { plain } from '../terminal/plain.ts';
import { curveReport, predictedReport } from '../terminal/prediction-report.ts';

export class PlotCommand extends JobCommand {
  static override paths = [['plot']];
  static override usage = jobUsage('plot', {
    details: `
      Draws what the best task of a job, or another one, predicted of held-out samples against what was measured, with
      R², RMSE and bias, and how its errors go along with the number of components. \`--json\` prints the numbers.
    `,
    examples: [
      ['The best of a job', 'jqctl plot job_01k9'],
      ['Another task of it', 'jqctl plot job_01k9 --task snv-pls'],
    ],
  });

  task = Option.String('--task', value('TASK', 'this task, by its id, a part of it or its label'));

  protected async act(session: Session): Promise<number> {
    const { client, output } = session;
    const id = await this.jobId(session);
    const found = this.task === undefined ? null : await taskFound(client, id, this.task);
    const task_id = found?.id ?? (await client.call('getJob', { params: { id } })).aggregate.best_task_id;
    if (!task_id) throw usageError(`${id} has no best task yet`, 'name another one with --task');
    const files = await client.call('listJobArtifacts', { params: { id }, query: { task_id } });
    const read = (role: string) =>
      textOf(
        session,
        files.find((file) => file.role === role && file.task_id === task_id),
      );
    const [predictions, curves] = await Promise.all([read('predictions'), read('curves')]);
    const predicted =
      predictions === null ? [] : readable('predictions', () => parsePredictions(predictions));
    const drawn = curves === null ? [] : readable('curves', () => parseCurves(curves));
    if (output.json) await output.print(JSON.stringify({ task_id, predictions: predicted, curves: drawn }));
    else if (predicted.length === 0 && drawn.length === 0)
      output.note(`${plain(task_id)} left nothing to draw`);
    else {
      const parts = [
        `${output.colours.bold(await named(session, id, task_id, found))}  ${plain(task_id)}`,
        ...(predicted.length > 0 ? [predictedReport(predicted, output)] : []),
        ...drawn.map((curve) => curveReport(curve, output)),
      ];
      await output.print(parts.filter((part) => part !== '').join('\n\n'));
    }
    return EXIT.done;
  }
}

/** The task that is drawn, in words. */
async function named(
  { client }: Session,
  id: string,
  task_id: string,
  found: { name: string | null } | null,
): Promise<string> {
  if (found !== null) return found.name === null ? 'task' : `task: ${plain(found.name)}`;
  const [best] = await client.call('getJobRanking', { params: { id }, query: { limit: 1 } });
  return best?.task_id === task_id ? `the best task: ${plain(rankedName(best))}` : 'the best task';
}

async function textOf({ client }: Session, file: ArtifactView | undefined): Promise<string | null> {
  if (file === undefined) return null;
  const chunks: Buffer[] = [];
  for await (const chunk of artifactBytes(client, file.id)) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

/** A runner may have written anything under that name. */
function readable<Read>(what: string, parse: () => Read): Read {
  try {
    return parse();
  } catch (error) {
    throw usageError(`the ${what} could not be read: ${(error as Error).message}`);
  }
}
