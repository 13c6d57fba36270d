import { Option } from 'clipanion';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { clientUsage } from '../cli/usage.ts';
import { sending } from '../cli/waiting-command.ts';
import { importedJob } from '../jobs/export/import-folder.ts';
import { sendJob } from '../jobs/submit/send-job.ts';

export class ImportCommand extends sending(ClientCommand) {
  static override paths = [['import']];
  static override usage = clientUsage('import', {
    details: `
      Submits the job of a folder that \`jqctl export\` wrote, as a new job that is computed anew: a server vouches for
      who computed what, so that results of another one are not taken over; they stay readable in the folder.
      What was uploaded for the job is uploaded again. Every file of the folder is checked against its SHA-256
      first, and nothing is submitted where one is missing or damaged.
    `,
    examples: [
      [
        'Run an archived job on another server',
        'jqctl import archive/corn-2025-06 --server http://other:8765 --wait',
      ],
    ],
  });

  folder = Option.String({ name: 'folder' });

  protected async act(session: Session): Promise<number> {
    const options = this.sendOptions();
    return sendJob(session, await importedJob(this.folder), options);
  }
}
