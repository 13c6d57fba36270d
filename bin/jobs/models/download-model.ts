import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { artifactBytes } from '../../../gateway/client/artifact-bytes.ts';
import type { ClusterClient } from '../../../gateway/client/client.ts';
import type { ModelFacts } from './model-facts.ts';
import { readModelFile } from './model-file.ts';

/** What the model of an artifact says of itself. @throws as `artifactBytes` and `readModelFile` */
export async function factsOfArtifact(client: ClusterClient, id: string): Promise<ModelFacts> {
  const folder = await mkdtemp(join(tmpdir(), 'jqctl-'));
  try {
    const path = join(folder, 'model');
    await pipeline(artifactBytes(client, id), createWriteStream(path));
    return await readModelFile(path, id);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
