import { mkdirSync } from 'node:fs';
import { mkdir, readdir, rename, rm, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Static, Type } from 'typebox';
import { KNOWN_ROLES, OUTPUT } from '../../../machines/protocol/artifact-roles.ts';
import { FailReport, TaskResult } from '../../../machines/schema/report.ts';
import { validator } from '../../../machines/schema/validate.ts';
import { outboxFolder, safeName } from '../attempt/paths.ts';
import { readPlain } from '../files.ts';
import { writeDurably } from './durable.ts';

const OutboxFile = Type.Object({
  role: Type.Enum([...KNOWN_ROLES, OUTPUT]),
  /** Below the directory of the attempt. */
  path: Type.String(),
  /** How the artifact is called; default the last part of the path. */
  filename: Type.Optional(Type.String()),
  /** Its bytes in base64, where they are few: they travel with the report. */
  content: Type.Optional(Type.String()),
  /** Once it is uploaded. */
  artifact_id: Type.Optional(Type.String()),
});

export const AttemptRef = Type.Object({
  task_id: Type.String(),
  attempt: Type.Integer(),
  worker_id: Type.String(),
});

const OutboxEntry = Type.Object({
  ref: AttemptRef,
  outcome: Type.Union([
    Type.Object({ verb: Type.Literal('complete'), result: TaskResult }),
    Type.Object({
      verb: Type.Literal('fail'),
      failure: FailReport,
      own: Type.Optional(Type.Boolean()),
    }),
  ]),
  files: Type.Array(OutboxFile),
});

export type AttemptRef = Static<typeof AttemptRef>;
export type OutboxFile = Static<typeof OutboxFile>;
/** How an attempt ended, and the files that go with it, until the server has acknowledged both. */
export type OutboxEntry = Static<typeof OutboxEntry>;

const check = validator(OutboxEntry);

/** A result of 16 MiB, whose text may grow as it is written, and its files. */
const MAX_ENTRY_BYTES = 128 * 1024 * 1024;

/** The results that the server has not acknowledged, one file each; they outlive this process. */
export class Outbox {
  readonly #folder: string;

  constructor(state: string) {
    this.#folder = outboxFolder(state);
  }

  async save(entry: OutboxEntry): Promise<void> {
    mkdirSync(this.#folder, { recursive: true });
    await writeDurably(this.#file(entry.ref), JSON.stringify(entry));
  }

  async remove(ref: OutboxEntry['ref']): Promise<void> {
    // In another thread, since to unname what was made durable a moment ago may wait for the disk.
    await unlink(this.#file(ref)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
  }

  async find(ref: OutboxEntry['ref']): Promise<OutboxEntry | null> {
    return (await readEntry(this.#file(ref))) ?? null;
  }

  /** What an earlier process saved. A file that cannot be read is put aside and named in `broken`. */
  async load(): Promise<{ entries: OutboxEntry[]; broken: string[] }> {
    await mkdir(this.#folder, { recursive: true });
    const entries: OutboxEntry[] = [];
    const broken: string[] = [];
    for (const name of (await readdir(this.#folder)).sort()) {
      const path = join(this.#folder, name);
      if (name.endsWith('.draft')) await rm(path, { force: true });
      else if (name.endsWith('.json')) {
        const entry = await readEntry(path);
        if (entry) entries.push(entry);
        else {
          broken.push(path);
          await rename(path, `${path}.broken`);
        }
      }
    }
    return { entries, broken };
  }

  #file({ task_id, attempt }: OutboxEntry['ref']): string {
    return join(this.#folder, `${safeName(task_id)}.${attempt}.json`);
  }
}

async function readEntry(path: string): Promise<OutboxEntry | undefined> {
  try {
    const checked = check(JSON.parse(await readPlain(dirname(path), path, MAX_ENTRY_BYTES)));
    return checked.ok ? checked.value : undefined;
  } catch {
    return undefined;
  }
}
