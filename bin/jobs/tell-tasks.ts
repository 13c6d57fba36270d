import { replyOf } from '../../gateway/client/replies.ts';
import type { Session } from '../cli/client-command.ts';
import { plain } from '../terminal/plain.ts';
import { styled } from '../terminal/status-style.ts';
import { tasksNamed } from './find/find-task.ts';

/** The same is asked for each of some tasks of a job, one after the other, and told where they stand then. */
export async function tellTasks(
  { client, output }: Session,
  route: 'cancelTask' | 'requeueTask',
  jobId: string,
  named: readonly string[],
): Promise<void> {
  for (const id of await tasksNamed(client, jobId, named)) {
    const answer = await client.callText(route, { params: { id } });
    const { task_id, status } = replyOf(route, answer);
    await output.print(output.json ? answer : `${plain(task_id)} is ${styled(status, output.colours)}`);
  }
}
