import type { Message } from '../../gateway/messages.ts';
import { type Handler, keyOf, type Preload, type Preloaded } from './handlers/handler.ts';
import { HANDLERS } from './handlers/index.ts';
import { fetchJobPieces } from './jobs/fetch-job-pieces.ts';
import { ARTIFACTS, TASK_ARTIFACTS } from './store/tables.ts';
import type { Turn } from './turn/turn.ts';

export const NOTHING_PRELOADED: Preloaded = {
  artifacts: new Map(),
  uploads: new Map(),
  keys: new Map(),
  jobPieces: new Map(),
};

/** Brings everything that the messages of a turn need into memory, in few queries. */
export async function preload(turn: Turn, messages: readonly Message[]): Promise<Preloaded> {
  const needs = messages.flatMap((message) => {
    const handler = HANDLERS[message.type] as Handler<typeof message.type>;
    return handler.preload ? [handler.preload(message as never)] : [];
  });
  if (needs.length === 0) return NOTHING_PRELOADED;
  const gather = <
    K extends 'jobs' | 'tasks' | 'workers' | 'artifacts' | 'uploadsOf' | 'pinsOf' | 'piecesOf' | 'pathsOf',
  >(
    key: K,
  ) => needs.flatMap((n) => n[key] ?? []);
  const { directory, store } = turn.core;
  await directory.fetch(turn.references, {
    jobs: gather('jobs'),
    tasks: gather('tasks'),
    workers: gather('workers'),
  });
  const pinned = gather('pinsOf').flatMap((id) => {
    const job = directory.tasks.get(id)?.row.job_id;
    return job !== undefined && directory.jobs.get(job)?.row.pins_fingerprint ? [job] : [];
  });
  const wanted = gather('piecesOf').flatMap((id) => directory.tasks.get(id)?.row.job_id ?? []);
  const asked = gather('pathsOf').filter((id) => directory.jobs.has(id));
  // Of all workers in memory, only where a message asks for it.
  const named =
    asked.length > 0 && [...directory.workers.values()].some(({ missingPaths }) => missingPaths.size > 0)
      ? asked
      : [];
  const artifacts = await store.loadBy(ARTIFACTS, 'id', [...new Set(gather('artifacts'))]);
  return {
    artifacts: new Map(artifacts.map((row) => [row.id, row])),
    uploads: await fetchUploads(turn, gather('uploadsOf')),
    keys: await fetchKeys(turn, needs),
    jobPieces: await fetchJobPieces(turn, new Set([...pinned, ...wanted, ...named])),
  };
}

async function fetchUploads(turn: Turn, tasks: string[]): Promise<Preloaded['uploads']> {
  const found: Preloaded['uploads'] = new Map();
  const rows = await turn.core.store.loadBy(TASK_ARTIFACTS, 'task_id', [...new Set(tasks)]);
  for (const { task_id, artifact_id } of rows) {
    found.set(task_id, (found.get(task_id) ?? new Set()).add(artifact_id));
  }
  return found;
}

async function fetchKeys(turn: Turn, needs: Preload[]): Promise<Preloaded['keys']> {
  const wanted = needs.flatMap(({ key }) => (key ? [[key.owner, key.key]] : []));
  if (wanted.length === 0) return new Map();
  const rows = await turn.core.store.reader.all<
    { owner: string; key: string; job_id: string; meaning: string | null; request: string | null }[]
  >(
    `SELECT j.owner, j.idempotency_key AS key, j.id AS job_id, j.meaning,
            iif(j.meaning IS NULL, (SELECT request FROM job_requests r WHERE r.job_id = j.id), NULL) AS request
     FROM json_each(?) w
     JOIN jobs j ON j.owner = json_extract(w.value, '$[0]') AND j.idempotency_key = json_extract(w.value, '$[1]')`,
    JSON.stringify(wanted),
  );
  return new Map(rows.map(({ owner, key, ...job }) => [keyOf(owner, key), job]));
}
