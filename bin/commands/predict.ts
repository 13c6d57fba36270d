import { stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Option } from 'clipanion';
import type { Prediction } from '../../actors/worker/runners/mljs/predict.ts';
import { readPredictions } from '../../machines/results/predictions.ts';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { EXIT, usageError } from '../cli/exit.ts';
import { integer, paramsOf, rawParams } from '../cli/flags.ts';
import { localError } from '../cli/local-error.ts';
import { clientUsage, value } from '../cli/usage.ts';
import { waiting } from '../cli/waiting-command.ts';
import { lastJob } from '../jobs/find/find-job.ts';
import { watchJob } from '../jobs/follow/watch.ts';
import { findPredictions, readArtifact, saveArtifact } from '../jobs/models/fetch-predictions.ts';
import { fileAt, findModel, libraryFor } from '../jobs/models/find-model.ts';
import { readModelFile } from '../jobs/models/model-file.ts';
import { predictHere } from '../jobs/models/predict-here.ts';
import { predictionSpec } from '../jobs/models/predict-job.ts';
import { tellOfWorkers } from '../jobs/submit/check-predictions.ts';
import { jobFromText } from '../jobs/submit/job-file.ts';
import { finish, submit } from '../jobs/submit/send-job.ts';
import type { Output } from '../terminal/output.ts';
import { plain } from '../terminal/plain.ts';
import { measuredLine, predictionsReport } from '../terminal/predictions-report.ts';

export class PredictCommand extends waiting(ClientCommand) {
  static override paths = [['predict']];
  static override usage = clientUsage('predict', {
    details: `
      Predicts each sample of a dataset, which needs no reference values: with the best model of a job that has ended,
      with that of one of its tasks (\`--task\`), with an artifact (\`art_…\`), or with a model file of this machine.
      Models and datasets that lie here are uploaded; an absolute path that does not is one of the workers.
      \`--out\` waits, and writes all predictions as CSV; \`--wait\` shows the first of them.

      Spectra on another axis than those that the model was made of are refused; \`--interpolate\` interpolates them.
      \`--local\` needs no server: it predicts on this machine with a model file of mljs.
    `,
    examples: [
      ['New samples, with the best model of a sweep', 'jqctl predict gasoline new.csv --out predicted.csv'],
      ['With the model of another of its tasks', 'jqctl predict gasoline new.csv --task snv-pls --wait'],
      ['Without a server', 'jqctl predict --local best_model.json new.csv --out predicted.csv'],
    ],
  });

  model = Option.String({ name: 'job or model' });
  dataset = Option.String({ name: 'dataset', required: false });
  last = Option.Boolean('--last', false, {
    description: 'the job that you submitted last, in the place of a name',
  });
  task = Option.String(
    '--task',
    value('TASK', 'the model of this task of the job, by its id, a part of it or its label'),
  );
  out = Option.String('--out', value('FILE', 'wait, and write the predictions there; - is standard output'));
  interpolate = Option.Boolean('--interpolate', false, {
    description: 'interpolate spectra that lie on another axis than those of the model',
  });

  local = Option.Boolean('--local', false, {
    description: 'predict on this machine, with a model file of mljs',
  });
  lib = Option.String('--lib', value('LIB', 'the library of the model, where neither job nor file tells'));
  params = Option.Array('--param', [], value('PARAM', 'NAME=VALUE, such as target=octane; repeatable'));
  name = Option.String('--name', value('NAME', 'name of the job'));
  priority = Option.String('--priority', value('N', 'larger first (0)'));

  protected override async run(output: Output): Promise<number> {
    return this.local ? this.#here(output) : super.run(output);
  }

  protected async act(session: Session): Promise<number> {
    const [source, dataset] = await this.#places(session);
    // Who wants them in a file waits for them.
    if (this.out !== undefined) this.wait = true;
    const wait = this.waitOptions();
    await this.#checkOut(session.output);
    const model = await findModel(session.client, source, this.task);
    const library = this.lib ?? libraryFor(model);
    if (library === undefined)
      throw usageError('--lib is missing: nothing tells the library of this model', 'such as --lib mljs');
    if (model.kind === 'file') await assertOf(library, model.path);
    const params = { ...rawParams(this.params), ...(this.interpolate && { interpolate: true }) };
    await tellOfWorkers(session.client, `${library}.predict`, session.output);
    const text = predictionSpec({
      library,
      model,
      dataset,
      params,
      name: this.name,
      priority: this.#priority(),
    });
    const sent = await submit(session, jobFromText(text, 'the job'), { upload: true });
    if (!wait) return finish(session, sent, { wait: undefined });
    // What is wanted is what was predicted: where that goes to stdout, how the job went is told beside it.
    const told = this.out === '-' ? { ...session, output: session.output.beside() } : session;
    const exit = await watchJob(told, sent.job, wait);
    if (exit === EXIT.done) await this.#conclude(session, sent.job.id);
    return exit;
  }

  /** With `--last` there is one word: the dataset. */
  async #places({ client }: Session): Promise<[source: string, dataset: string]> {
    if (!this.last) return [this.model, this.#dataset()];
    if (this.dataset !== undefined)
      throw usageError(`name a job, or --last: '${this.model}' and --last are two`);
    return [await lastJob(client), this.model];
  }

  #dataset(): string {
    if (this.dataset === undefined) throw usageError('name the dataset, too', 'jqctl predict JOB DATASET');
    return this.dataset;
  }

  async #checkOut({ json }: Output): Promise<void> {
    if (this.out === '') throw usageError('--out: the file has no name');
    if (this.out === '-' && json)
      throw usageError('--out - and --json both write to standard output: take one');
    if (this.out === undefined || this.out === '-') return;
    // A folder that is mistyped is not made, and nothing is computed for it.
    const folder = dirname(this.out);
    const found = await stat(folder).catch(() => null);
    if (!found?.isDirectory())
      throw usageError(`cannot write ${this.out}: there is no folder ${folder}`, 'choose another --out');
  }

  #priority(): number | undefined {
    return this.priority === undefined
      ? undefined
      : integer('--priority', this.priority, { min: -1e9, max: 1e9 });
  }

  async #conclude(session: Session, jobId: string): Promise<void> {
    const { output } = session;
    const { artifact, task } = await findPredictions(session, jobId);
    if (this.out !== undefined && this.out !== '-') {
      await saveArtifact(session, artifact, this.out);
      output.note(`predictions are in ${plain(this.out)}`);
      return;
    }
    if (output.json) return;
    if (this.out === undefined) output.note('');
    const text = await readArtifact(session, artifact);
    const metrics = (task.result?.metrics ?? {}) as Record<string, unknown>;
    await output.print(
      this.out === '-' ? text : predictionsReport({ rows: readPredictions(text), metrics }, output),
    );
  }

  async #here(output: Output): Promise<number> {
    const words = this.#whatNeedsServer();
    if (words !== undefined) throw usageError(`${words} needs a server: take it or --local`);
    await this.#checkOut(output);
    const file = await fileAt(this.model);
    if (file === null)
      throw usageError(
        `there is no file ${this.model}`,
        '--local predicts with a model file of this machine',
      );
    const params = { ...paramsOf(this.params), ...(this.interpolate && { interpolate: true }) };
    const found = predictHere(file.path, this.#dataset(), params);
    for (const warning of found.warnings) output.warn(plain(warning));
    if (this.out !== undefined && this.out !== '-') {
      await write(this.out, found.csv);
      const measured = measuredLine(readPredictions(found.csv), found.metrics);
      if (measured !== '') output.note(measured);
      output.note(`predictions are in ${plain(this.out)}`);
    }
    if (output.json) await output.print(documentOf(found));
    else if (this.out === '-') await output.print(found.csv);
    else if (this.out === undefined)
      await output.print(
        predictionsReport({ rows: readPredictions(found.csv), metrics: found.metrics }, output),
      );
    return EXIT.done;
  }

  #whatNeedsServer(): string | undefined {
    if (this.wait) return '--wait';
    if (this.last) return '--last';
    if (this.task !== undefined) return '--task';
    return this.lib !== undefined && this.lib !== 'mljs' ? `--lib ${this.lib}` : undefined;
  }
}

/** What a file says of itself is believed; one that says nothing may be of any library. */
async function assertOf(library: string, path: string): Promise<void> {
  const facts = await readModelFile(path).catch(() => null);
  if (facts === null || facts.library === library) return;
  throw usageError(
    `${path} is a model of ${facts.library}, and ${library} cannot predict with it`,
    'leave --lib out',
  );
}

function documentOf({ model, csv, metrics, axes, warnings }: Prediction): string {
  const predictions = readPredictions(csv).map(({ sample, y, prediction, target }) => ({
    ...{ sample, y: y === '' ? null : Number(y), prediction: Number(prediction) },
    target: target || null,
  }));
  return JSON.stringify({ model: model.about ?? null, metrics, axes, warnings, predictions });
}

async function write(path: string, text: string): Promise<void> {
  try {
    await writeFile(path, text);
  } catch (error) {
    throw usageError(`cannot write ${localError(error) ?? path}`, 'choose another --out');
  }
}
