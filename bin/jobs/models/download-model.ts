import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { ClusterClient } from '../../../gateway/client/client.ts';

/** Fetches an artifact into a folder; the path of the file. @throws as `ClusterClient.download` */
export async function downloadModel(client: ClusterClient, id: string, folder: string): Promise<string> {
  const path = join(folder, 'model');
  const { body } = await client.download(id);
  await pipeline(body, createWriteStream(path));
  return path;
}
