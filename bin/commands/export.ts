import { Option } from 'clipanion';
import { compose } from '../../machines/json/raw.ts';
import { hasEnded } from '../../machines/schema/statuses.ts';
import type { Session } from '../cli/client-command.ts';
import { EXIT, usageError } from '../cli/exit.ts';
import { JobCommand } from '../cli/job-command.ts';
import { jobUsage, value } from '../cli/usage.ts';
import { exportJob } from '../jobs/export/export-job.ts';
import { bytes, counted } from '../terminal/format.ts';
import { plain } from '../terminal/plain.ts';

export class ExportCommand extends JobCommand {
  static override paths = [['export']];
  static override usage = jobUsage('export', {
    details: `
      Writes everything of a job into a new folder: its specification and what was uploaded for it, ranking,
      versions, events, and for each task a folder with its model, predictions and log, such as \`03-snv-pls\`.
      \`report.html\` shows it to people and needs nothing else, \`index.csv\` says what is what, with the SHA-256 of
      each file. What the job named by a path of its workers is not in it; the report says what.

      \`jqctl import\` of the folder submits the job again, here or on another server.
    `,
    examples: [['Archive a job', 'jqctl export job_01k9 --to archive/corn-2025-06']],
  });

  to = Option.String('--to', value('DIR', 'the folder, which must be new or empty'));

  protected async act(session: Session): Promise<number> {
    const { output } = session;
    if (!this.to) throw usageError('--to is missing', 'name a new folder');
    const jobId = await this.jobId(session);
    const { job, downloads, files, elsewhere } = await exportJob(session, jobId, this.to);
    if (!hasEnded(job.status)) output.warn(`${plain(job.id)} is ${job.status}: this is how far it has come`);
    for (const what of elsewhere) output.note(`only the workers have it, not exported: ${plain(what)}`);
    const { red } = output.noteColours;
    const faults = downloads.flatMap(({ path, fault }) => (fault ? [{ path, fault }] : []));
    for (const { path, fault } of faults)
      output.note(`${red('failed')} ${plain(path)}: ${plain(fault.message)}`);
    const size = files.reduce((sum, file) => sum + file.bytes, 0);
    if (output.json) await output.print(compose({ job_id: job.id, folder: this.to, files: [...files] }));
    else
      await output.print(
        `${counted(files.length + 1, 'file')}, ${bytes(size)} in ${plain(this.to)}; begin with report.html`,
      );
    return faults[0]?.fault.exit ?? EXIT.done;
  }
}
