import { crc32 } from 'node:zlib';

export interface RawEntry {
  name: string;
  data?: string;
  /** Unix mode, file type included. */
  mode?: number;
  /** A checksum other than the right one. */
  crc?: number;
}

/** An archive exactly as asked for, hostile names and all, which no library would write. Entries are stored. */
export function rawZip(entries: readonly RawEntry[]): Buffer {
  const locals: Buffer[] = [];
  const central: Buffer[] = [];
  let offset = 0;
  for (const { name, data = '', mode = 0o100644, crc } of entries) {
    const bytes = Buffer.from(data);
    const title = Buffer.from(name);
    const sum = crc ?? crc32(bytes);
    const sizes = Buffer.alloc(12);
    sizes.writeUInt32LE(sum, 0);
    sizes.writeUInt32LE(bytes.length, 4);
    sizes.writeUInt32LE(bytes.length, 8);
    const lengths = Buffer.alloc(4);
    lengths.writeUInt16LE(title.length, 0);
    // Signature, version 2.0, UTF-8 names, stored, no time.
    const local = Buffer.concat([
      Buffer.from('504b0304140000080000', 'hex'),
      Buffer.alloc(4),
      sizes,
      lengths,
    ]);
    const record = Buffer.concat([
      Buffer.from('504b01021403140000080000', 'hex'),
      Buffer.alloc(4),
      sizes,
      lengths,
      Buffer.alloc(14),
    ]);
    record.writeUInt32LE((mode << 16) >>> 0, 38);
    record.writeUInt32LE(offset, 42);
    locals.push(local, title, bytes);
    central.push(record, title);
    offset += local.length + title.length + bytes.length;
  }
  const directory = Buffer.concat(central);
  const end = Buffer.alloc(22);
  end.writeUInt32LE(0x06054b50, 0);
  end.writeUInt16LE(entries.length, 8);
  end.writeUInt16LE(entries.length, 10);
  end.writeUInt32LE(directory.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...locals, directory, end]);
}
