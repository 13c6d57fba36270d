import { Option } from 'clipanion';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { EXIT, usageError } from '../cli/exit.ts';
import { clientUsage, value } from '../cli/usage.ts';
import { factsOfArtifact } from '../jobs/models/download-model.ts';
import { fileAt, findModel } from '../jobs/models/find-model.ts';
import type { ModelFacts } from '../jobs/models/model-facts.ts';
import { readModelFile } from '../jobs/models/model-file.ts';
import { modelReport } from '../terminal/model-report.ts';
import type { Output } from '../terminal/output.ts';

export class ModelShowCommand extends ClientCommand {
  static override paths = [['model', 'show']];
  static override usage = clientUsage('model show', {
    details: `
      Library and version, preprocessing, the axis of the spectra, what it predicts and in which unit, the data that it
      was made of (as a hash), and the task that made it. The model is a file of this machine, for which no server is
      asked, an artifact (\`art_…\`), or the best of a job, or that of one of its tasks. \`--json\` has the whole axis.
    `,
    examples: [
      ['A file', 'jqctl model show results/best_model.json'],
      ['The best of a job', 'jqctl model show gasoline'],
    ],
  });

  model = Option.String({ name: 'model file' });
  task = Option.String(
    '--task',
    value('TASK', 'the model of this task of the job, by its id, a part of it or its label'),
  );

  protected override async run(output: Output): Promise<number> {
    const file = this.task === undefined ? await fileAt(this.model) : null;
    return file === null ? super.run(output) : show(output, this.model, await readModelFile(file.path));
  }

  protected async act({ client, output }: Session): Promise<number> {
    const found = await findModel(client, this.model, this.task);
    const id = found.kind === 'artifact' ? found.id : found.kind === 'job' ? found.bestModel : null;
    if (id === null) throw usageError(`${this.model} has no best model`, 'name one of its tasks with --task');
    return show(output, id, await factsOfArtifact(client, id));
  }
}

async function show(output: Output, name: string, facts: ModelFacts): Promise<number> {
  await output.print(output.json ? JSON.stringify(facts) : modelReport(name, facts, output.colours));
  return EXIT.done;
}
