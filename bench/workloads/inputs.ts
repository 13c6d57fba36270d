import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { ZipFile } from 'yazl';
import { ClusterClient } from '../../gateway/client/client.ts';
import { startWorker } from '../measure/worker.ts';
import { atMost, type Reading, type Workload } from '../workload.ts';
import { runNoops } from './noops.ts';

const MB = 1_000_000;

export const inputs: Workload = {
  name: 'inputs',
  about:
    'Tasks that do nothing, on a worker with two slots: with a dataset that lies there, and with an uploaded one of 50 MB (a table of numbers, packed), which the worker fetches and unpacks for the first of them. Processor time is that of the worker and its children.',
  maxRuns: 1,
  async run(bench) {
    const count = bench.pick(200, 50, 3);
    const folder = bench.directory();
    const archive = await tableArchive(join(folder, 'table.zip'), bench.pick(50, 50, 1) * MB);
    const server = await bench.server();
    const client = new ClusterClient({ server: server.url });
    const worker = await startWorker(server.url, bench.directory());
    try {
      const { artifact_id } = await client.upload('uploadArtifact', { file: archive });
      const there = { kind: 'shared_path', path: folder };
      const uploaded = { kind: 'artifact', artifact_id };
      await runNoops(worker, server.url, there, Math.ceil(count / 10));
      const plain = await runNoops(worker, server.url, there, count);
      const first = await runNoops(worker, server.url, uploaded, 1);
      server.reset();
      const next = await runNoops(worker, server.url, uploaded, count);
      const reading = (id: string, what: string, value: number): Reading => ({
        id: `inputs.${id}`,
        what: `${what}, processor time a task`,
        unit: 'ms',
        value,
      });
      return [
        reading('plain', 'a dataset that lies there', plain.workerMs),
        reading('first', 'the first with the uploaded one', first.workerMs),
        { ...reading('next', 'those after it', next.workerMs), server: server.usage() },
        {
          ...reading('added', 'what the uploaded one adds to each', next.workerMs - plain.workerMs),
          targets: [atMost(100)],
        },
        { id: 'inputs.speed', what: 'tasks with the uploaded one', unit: '/s', value: count / next.seconds },
      ];
    } finally {
      await worker.kill();
      await client.close();
    }
  },
};

/** An archive with a table of so many bytes, whose numbers pack as measured ones do. */
export async function tableArchive(path: string, bytes: number): Promise<string> {
  const row = () => `${Array.from({ length: 700 }, () => Math.random().toFixed(6)).join(',')}\n`;
  const rows = [];
  for (let written = 0; written < bytes; written += rows.at(-1)?.length ?? 0) rows.push(row());
  const zip = new ZipFile();
  zip.addBuffer(Buffer.from(rows.join('')), 'table/X.csv');
  zip.end();
  await pipeline(zip.outputStream, createWriteStream(path));
  return path;
}
