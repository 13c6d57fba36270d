import { replyOf } from '../../gateway/client/replies.ts';
import { JOB_STATUSES, TASK_STATUSES } from '../../machines/schema/statuses.ts';
import type { ClusterStats } from '../../machines/schema/views.ts';
import { ClientCommand, type Session } from '../cli/client-command.ts';
import { EXIT } from '../cli/exit.ts';
import { clientUsage } from '../cli/usage.ts';
import { backupsLine } from '../terminal/backup-report.ts';
import { plain } from '../terminal/plain.ts';
import { facts } from '../terminal/table.ts';

export class StatsCommand extends ClientCommand {
  static override paths = [['stats']];
  static override usage = clientUsage('stats', {
    details: 'Counts what the server has stored and who is connected now.',
    examples: [['Show the numbers', 'jqctl stats']],
  });

  protected async act({ client, output }: Session): Promise<number> {
    const answer = await client.callText('getStats');
    await output.print(output.json ? answer : report(replyOf('getStats', answer), output));
    return EXIT.done;
  }
}

function report(stats: ClusterStats, output: Session['output']): string {
  const rows: [string, string][] = [
    ['server', `version ${plain(stats.server_version)}, protocol ${stats.api_version}`],
    ['workers', `${stats.workers_alive} alive, ${stats.workers_dead} dead`],
    ['jobs', counts(stats.jobs_by_status, JOB_STATUSES)],
    ['tasks', counts(stats.tasks_by_status, TASK_STATUSES)],
    ['in flight', String(stats.tasks_in_flight)],
  ];
  if (stats.backups !== undefined) rows.push(['backups', backupsLine(stats.backups, Date.now() / 1000)]);
  return facts(rows, output);
}

function counts(byStatus: Record<string, number>, order: readonly string[]): string {
  const there = order.filter((status) => (byStatus[status] ?? 0) > 0);
  return there.map((status) => `${byStatus[status]} ${status}`).join(', ') || 'none';
}
