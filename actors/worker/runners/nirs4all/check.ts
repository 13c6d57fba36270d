import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { childEnvironment } from '../../environment.ts';
import { InputError } from '../../errors.ts';
import type { DatasetReport } from '../dataset-report.ts';

/** Room for a report; the spectra in it are few. */
const MAX_BYTES = 256 * 1024 * 1024;

/**
 * Looks at a dataset as a run of nirs4all reads it, in a process of its own.
 *
 * @param python absolute path of an interpreter that has nirs4all
 * @param params those of the run
 * @throws InputError with the sentence that a run would end with
 */
export async function checkDataset(
  python: string,
  path: string,
  params: Readonly<Record<string, unknown>>,
): Promise<DatasetReport> {
  const program = fileURLToPath(new URL('./check.py', import.meta.url));
  const env = childEnvironment();
  const answer = await new Promise<string>((found, fail) => {
    execFile(
      python,
      [program, path, JSON.stringify(params)],
      { env, maxBuffer: MAX_BYTES },
      (fault, stdout, stderr) => {
        if (!fault) return found(stdout);
        const said = stderr.split('\n').findLast((line) => line.startsWith('Error: '));
        fail(
          new InputError(said?.slice('Error: '.length) ?? `${python} ${program} failed: ${stderr.trim()}`),
        );
      },
    );
  });
  return JSON.parse(answer) as DatasetReport;
}
