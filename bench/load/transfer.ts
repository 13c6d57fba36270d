import { createReadStream, statSync } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { Control } from './loads.ts';

const CHUNK = 1024 * 1024;
const BOUNDARY = 'a-boundary-that-no-artifact-holds';

/** Uploads a file as an artifact, then downloads it again; seconds of both. */
export async function transfer(
  { url, file }: { url: string; file: string },
  control: Control,
): Promise<{ upload: number; download: number; sha256: string; received: number }> {
  await control.ready();
  const began = performance.now();
  const { artifact_id, sha256 } = await upload(url, file);
  const uploaded = performance.now();
  const received = await download(url, artifact_id);
  const downloaded = performance.now();
  return { upload: (uploaded - began) / 1000, download: (downloaded - uploaded) / 1000, sha256, received };
}

async function upload(url: string, file: string): Promise<{ artifact_id: string; sha256: string }> {
  const head = `--${BOUNDARY}\r\ncontent-disposition: form-data; name="file"; filename="measured.bin"\r\ncontent-type: application/octet-stream\r\n\r\n`;
  const tail = `\r\n--${BOUNDARY}--\r\n`;
  const sent = request(`${url}/v1/artifacts`, {
    method: 'POST',
    headers: {
      'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
      'content-length': statSync(file).size + head.length + tail.length,
    },
  });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    sent.once('response', resolve);
    sent.once('error', reject);
  });
  sent.write(head);
  await pipeline(createReadStream(file, { highWaterMark: CHUNK }), sent, { end: false });
  sent.end(tail);
  return JSON.parse(await textOf(await answered)) as { artifact_id: string; sha256: string };
}

async function textOf(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of answer) text += chunk;
  if (answer.statusCode !== 200)
    throw new Error(`the upload was answered with ${answer.statusCode}: ${text}`);
  return text;
}

/** Bytes received; they are not kept. */
function download(url: string, id: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const asked = request(`${url}/v1/artifacts/${id}`, (answer) => {
      let bytes = 0;
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
      });
      answer.on('end', () => resolve(bytes));
      answer.on('error', reject);
    });
    asked.once('error', reject);
    asked.end();
  });
}
