import { UnreachableError } from '../../../gateway/client/errors.ts';
import { replyOf } from '../../../gateway/client/replies.ts';
import type { JobView } from '../../../machines/schema/views.ts';
import type { Session } from '../../cli/client-command.ts';
import { withDeadline } from '../../cli/deadline.ts';
import { CliError, EXIT } from '../../cli/exit.ts';
import { counted } from '../../terminal/format.ts';
import { plain } from '../../terminal/plain.ts';
import { type WatchOptions, watchJob } from '../follow/watch.ts';
import { checkBeforeUpload } from './check-before-upload.ts';
import type { JobFile } from './job-file.ts';
import { uploadLocalFiles } from './local-files.ts';

export interface SendOptions {
  /** Upload what the job names on this machine, not only what it marks. */
  upload: boolean;
  /** How to stay until the job has ended; undefined for not staying. */
  wait: WatchOptions | undefined;
}

/** Uploads, submits and, if asked, watches a job; the exit code. */
export async function sendJob(session: Session, file: JobFile, options: SendOptions): Promise<number> {
  return finish(session, await submit(session, file, options), options);
}

/** The same of several jobs: none waits for another. The exit code is that of the first that is not a success. */
export async function sendJobs(
  session: Session,
  files: readonly JobFile[],
  options: SendOptions,
): Promise<number> {
  const sent: Sent[] = [];
  for (const file of files) sent.push(await submit(session, file, options));
  const exits: number[] = [];
  for (const one of sent) exits.push(await finish(session, one, options));
  return exits.find((exit) => exit !== EXIT.done) ?? EXIT.done;
}

export interface Sent {
  job: JobView;
  /** As the server wrote it. */
  answer: string;
}

/** Uploads and submits a job. */
export async function submit(
  session: Session,
  file: JobFile,
  options: Pick<SendOptions, 'upload'>,
): Promise<Sent> {
  const { client, output } = session;
  for (const warning of file.warnings) output.warn(plain(warning));
  const text = await uploaded(session, file, options.upload);
  const answer = await client.callText('submitJob', { text }).catch((error: unknown) => {
    throw error instanceof UnreachableError ? mayHaveArrived(error, file.spec.idempotency_key) : error;
  });
  const job = replyOf('submitJob', answer);
  for (const warning of job.warnings) {
    if (!file.warnings.includes(warning)) output.warn(plain(warning));
  }
  output.note(`submitted ${plain(job.id)}, ${counted(job.aggregate.num_tasks, 'task')}`);
  return { job, answer };
}

/** Watches it, if asked, or says how to; the exit code. */
export async function finish(
  session: Session,
  { job, answer }: Sent,
  options: Pick<SendOptions, 'wait'>,
): Promise<number> {
  const { output } = session;
  const id = plain(job.id);
  if (options.wait) return watchJob(session, job, options.wait);
  if (!output.json) output.note(output.noteColours.dim(`follow it with: jqctl wait ${id}`));
  await output.print(output.json ? answer : id);
  return EXIT.done;
}

async function uploaded({ client, output }: Session, file: JobFile, all: boolean): Promise<string> {
  const { text, folder } = file;
  const folders = ['.', ...(folder === undefined ? [] : [folder])];
  await checkBeforeUpload(file, { client, all, folders, output });
  return withDeadline(undefined, async (deadline) => {
    try {
      return await uploadLocalFiles(text, { client, output, signal: deadline.signal, all, folders });
    } catch (error) {
      if (deadline.exit === undefined) throw error;
      throw new CliError(deadline.exit, 'interrupted; nothing was submitted');
    }
  });
}

/** When the connection broke on the way, nobody here knows whether the job arrived. */
function mayHaveArrived(fault: UnreachableError, key: string | undefined): UnreachableError | CliError {
  const { code } = (fault.cause ?? {}) as NodeJS.ErrnoException;
  const refused = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT'];
  if (code !== undefined && refused.includes(code)) return fault;
  const hint =
    key === undefined
      ? 'the job may have arrived: look with jqctl jobs before you submit it again'
      : 'submit it again: its idempotency key keeps it from being queued twice';
  return new CliError(EXIT.unreachable, fault.message, { hint });
}
