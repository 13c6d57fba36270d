import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { BaseContext } from 'clipanion';
import { yamlToJson } from '../../../machines/json/yaml.ts';
import { yamlText } from '../../../machines/json/yaml-text.ts';
import type { JobSpec } from '../../../machines/schema/job.ts';
import { sizeOf } from '../../../machines/submission/submission.ts';
import type { Session } from '../../cli/client-command.ts';
import { CliError, usageError } from '../../cli/exit.ts';
import { counted } from '../../terminal/format.ts';
import { type JobFile, jobFromText, readJobFile } from './job-file.ts';

/**
 * A specification as somebody changed it in their editor, as YAML, checked as the server will; null where nothing was
 * changed. Numbers stay as they were written.
 * @param what it is, for people
 * @throws CliError where something is wrong with it; what was written is kept, and it is said where
 */
export async function editedJob(
  { output }: Session,
  { env }: Pick<BaseContext, 'env'>,
  text: string,
  what: string,
): Promise<JobFile | null> {
  const editor = editorOf(env);
  const folder = await mkdtemp(join(tmpdir(), 'jqctl-edit-'));
  const path = join(folder, 'job.yaml');
  const before = jobFromText(text, what);
  const written = yamlText(text);
  await writeFile(path, written, { mode: 0o600 });
  await openEditor(path, editor);
  const after = await readJobFile(path, Readable.from([]), {}).catch((error: unknown) => {
    if (!(error instanceof CliError)) throw error;
    const { message, exit, details } = error;
    throw new CliError(exit, message, { details, hint: `what you wrote is kept: jqctl submit ${path}` });
  });
  await rm(folder, { recursive: true });
  if (after.text === yamlToJson(written)) {
    output.note('nothing was changed, so nothing is submitted; without --edit it is submitted as it is');
    return null;
  }
  const [count, was] = [tasksOf(after.spec), tasksOf(before.spec)];
  output.note(`${count}, ${count === was ? 'as before' : `where it was ${was}`}`);
  return after;
}

function tasksOf(spec: JobSpec): string {
  const { pipelines, datasets } = sizeOf(spec);
  if (spec.decompose) return 'as many tasks as the library finds variants';
  return counted(pipelines * datasets, 'task');
}

/** What somebody chose may need no terminal; what everybody has does. */
function editorOf(env: BaseContext['env']): string {
  const chosen = env.VISUAL || env.EDITOR;
  if (chosen) return chosen;
  if (process.platform === 'win32') return 'notepad';
  if (!process.stdin.isTTY || !process.stdout.isTTY)
    throw usageError('--edit needs a terminal', 'or an editor of your own in EDITOR');
  return 'vi';
}

/** Waits until the editor has been closed; it may have arguments, as in `code --wait`. */
async function openEditor(path: string, editor: string): Promise<void> {
  const code = await new Promise<number | null>((resolve, reject) => {
    // By a shell, as everybody else does: it may have arguments.
    const child =
      process.platform === 'win32'
        ? spawn(`${editor} "${path}"`, { stdio: 'inherit', shell: true })
        : spawn('sh', ['-c', `${editor} "$1"`, editor, path], { stdio: 'inherit' });
    child.once('error', reject).once('close', resolve);
  });
  if (code !== 0)
    throw usageError(
      `the editor '${editor}' ended with ${code}; nothing is submitted`,
      `what you wrote is kept: ${path}`,
    );
}
