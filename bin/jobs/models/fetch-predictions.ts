import { basename, dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { artifactBytes } from '../../../gateway/client/artifact-bytes.ts';
import type { ArtifactView, TaskView } from '../../../machines/schema/views.ts';
import type { Session } from '../../cli/client-command.ts';
import { usageError } from '../../cli/exit.ts';
import type { Download } from '../download.ts';
import { fetchDownloads } from '../fetch-downloads.ts';

/** What a job predicted, of its only task. */
export interface Fetched {
  artifact: ArtifactView;
  task: TaskView;
}

/** @throws CliError where its task left no predictions */
export async function findPredictions({ client }: Session, jobId: string): Promise<Fetched> {
  const params = { id: jobId };
  const [[task], artifacts] = await Promise.all([
    client.call('listJobTasks', { params }),
    client.call('listJobArtifacts', { params }),
  ]);
  const artifact = artifacts.find(({ role }) => role === 'predictions');
  if (task && artifact) return { artifact, task };
  throw usageError(`${jobId} left no predictions`, `see what it left: jqctl artifacts ${jobId}`);
}

/** Its text. */
export async function readArtifact({ client }: Session, { id }: ArtifactView): Promise<string> {
  return text(artifactBytes(client, id));
}

/** Puts it at a path, whole and verified, or not at all. @throws CliError */
export async function saveArtifact(session: Session, artifact: ArtifactView, path: string): Promise<void> {
  const download: Download = { artifact, path: basename(path) };
  await fetchDownloads(session, dirname(path), [download]);
  if (download.fault) throw download.fault;
}
