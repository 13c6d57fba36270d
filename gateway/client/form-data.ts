import { randomBytes } from 'node:crypto';
import { type FileHandle, open } from 'node:fs/promises';
import { basename } from 'node:path';

/** Bytes that are read at once. */
const READ_BYTES = 256 * 1024;

/** A file that is uploaded. */
export interface SentFile {
  file: string;
  /** How to open it, for files that are not opened like any other; called each time that it is read. */
  open?: () => Promise<FileHandle>;
  filename?: string;
  onProgress?: (sentBytes: number, totalBytes: number) => void;
}

/** A file as the part `file` of a multipart body, which is read while it is sent. */
export class FilePart {
  /** Why the file could not be read. */
  fault: unknown;
  readonly #file: FileHandle;
  readonly #bytes: number;
  readonly #boundary = `jq-${randomBytes(16).toString('hex')}`;
  readonly #head: Buffer;
  readonly #tail = Buffer.from(`\r\n--${this.#boundary}--\r\n`);

  private constructor(file: FileHandle, bytes: number, filename: string) {
    this.#file = file;
    this.#bytes = bytes;
    this.#head = Buffer.from(
      `--${this.#boundary}\r\nContent-Disposition: form-data; name="file"; ${filenameParameter(sendable(filename))}\r\n` +
        'Content-Type: application/octet-stream\r\n\r\n',
    );
  }

  static async open({ file, open: opens, filename }: SentFile): Promise<FilePart> {
    const opened = await (opens?.() ?? open(file));
    try {
      return new FilePart(opened, (await opened.stat()).size, filename ?? basename(file));
    } catch (fault) {
      await opened.close();
      throw fault;
    }
  }

  get headers(): Record<string, string> {
    return {
      'content-type': `multipart/form-data; boundary=${this.#boundary}`,
      'content-length': String(this.#head.length + this.#bytes + this.#tail.length),
    };
  }

  async *body(onProgress: SentFile['onProgress']): AsyncGenerator<Buffer> {
    yield this.#head;
    for (let sent = 0; ; ) {
      const { bytesRead, buffer } = await this.#file
        .read(Buffer.allocUnsafe(READ_BYTES))
        .catch((fault: unknown) => {
          this.fault = fault;
          throw fault;
        });
      if (bytesRead === 0) break;
      yield buffer.subarray(0, bytesRead);
      sent += bytesRead;
      onProgress?.(sent, this.#bytes);
    }
    yield this.#tail;
  }

  close(): Promise<void> {
    return this.#file.close();
  }
}

/**
 * A file name as the head of a part can carry it: a part whose name holds a line break is passed over by multipart
 * parsers, and half a surrogate pair has no UTF-8 form.
 */
const sendable = (filename: string): string => filename.replace(/[\p{Cc}\p{Cs}]/gu, '_');

/**
 * The name of a part as form data has it (RFC 7578, 4.2): in quotation marks, as UTF-8. What that cannot say to every
 * parser is said a second time in the extended form, which that document does not want and everybody reads.
 */
function filenameParameter(filename: string): string {
  const plain = `filename="${filename.replaceAll('"', '%22')}"`;
  return /^[\x20-\x7e]*$/.test(filename) && !/["%\\]/.test(filename)
    ? plain
    : `${plain}; filename*=UTF-8''${encodeURIComponent(filename)}`;
}
