import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { runLoad } from '../load/process.ts';
import { atLeast, atMost, type Workload } from '../workload.ts';

const execute = promisify(execFile);
const MIB = 2 ** 20;

export const artifacts: Workload = {
  name: 'artifacts',
  about:
    'One file of 2 GiB, uploaded as an artifact (hashed, synced and renamed into place before the answer) and downloaded again. Beside it `cp` of the same file to the same disk followed by `sha256sum` of the copy; neither of them syncs.',
  async run(bench) {
    // The largest that the server takes by default.
    const size = bench.pick(2048, 256, 4) * MIB;
    const file = join(bench.directory(), 'measured.bin');
    writeRandom(file, size);
    const copy = await copyAndHash(file);
    const server = await bench.server();
    // What is loaded for the first upload is not counted.
    const small = join(bench.directory(), 'small.bin');
    writeRandom(small, MIB);
    await runLoad('transfer', { url: server.url, file: small });
    server.reset();
    const before = server.usage().bytes;
    const done = await runLoad('transfer', { url: server.url, file });
    const used = server.usage();
    if (done.sha256 !== copy.sha256) throw new Error('the artifact has another hash than the file');
    if (done.received !== size) throw new Error(`${done.received} of ${size} bytes came back`);
    const speed = (seconds: number) => size / MIB / seconds;
    return [
      {
        id: 'artifacts.upload',
        what: `upload of ${size / MIB} MiB`,
        unit: 'MiB/s',
        value: speed(done.upload),
        targets: [atLeast(0.7, 'artifacts.copy')],
        server: used,
      },
      {
        id: 'artifacts.download',
        what: 'download',
        unit: 'MiB/s',
        value: speed(done.download),
        targets: [atLeast(0.7, 'artifacts.copy')],
      },
      { id: 'artifacts.copy', what: 'cp and sha256sum', unit: 'MiB/s', value: speed(copy.seconds) },
      {
        id: 'artifacts.memory',
        what: "growth of the server's memory, at its peak",
        unit: 'MiB',
        value: (used.peakBytes - before) / MIB,
        targets: [atMost(64)],
      },
    ];
  },
};

function writeRandom(path: string, size: number): void {
  const file = openSync(path, 'w');
  for (let written = 0; written < size; written += 4 * MIB) {
    writeSync(file, randomBytes(Math.min(4 * MIB, size - written)));
  }
  closeSync(file);
}

async function copyAndHash(file: string): Promise<{ seconds: number; sha256: string }> {
  const copy = `${file}.copy`;
  const began = performance.now();
  await execute('cp', [file, copy]);
  const { stdout } = await execute('sha256sum', [copy]);
  const seconds = (performance.now() - began) / 1000;
  rmSync(copy);
  return { seconds, sha256: stdout.split(' ')[0] ?? '' };
}
