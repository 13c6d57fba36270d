import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { artifactBytes } from '../../../gateway/client/artifact-bytes.ts';
import type { ClusterClient } from '../../../gateway/client/client.ts';

/** Fetches an artifact into a folder; the path of the file. @throws as `artifactBytes` */
export async function downloadModel(client: ClusterClient, id: string, folder: string): Promise<string> {
  const path = join(folder, 'model');
  await pipeline(artifactBytes(client, id), createWriteStream(path));
  return path;
}
