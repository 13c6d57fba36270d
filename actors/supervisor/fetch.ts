import type { Message } from '../../gateway/messages.ts';
import { ARTIFACTS, TASK_ARTIFACTS } from '../store/tables.ts';
import { fetchDocuments } from './fetch-documents.ts';
import type { Turn } from './turn.ts';
import { type Fetched, keyOf, type Needs, type Verb } from './verb.ts';
import { VERBS } from './verbs/index.ts';

export const NOTHING_FETCHED: Fetched = {
  artifacts: new Map(),
  uploads: new Map(),
  keys: new Map(),
  documents: new Map(),
};

/** Brings everything that the messages of a turn need into memory, in few queries. */
export async function fetchNeeds(turn: Turn, messages: readonly Message[]): Promise<Fetched> {
  const needs = messages.flatMap((message) => {
    const verb = VERBS[message.type] as Verb<typeof message.type>;
    return verb.needs ? [verb.needs(message as never)] : [];
  });
  if (needs.length === 0) return NOTHING_FETCHED;
  const gather = <
    K extends 'jobs' | 'tasks' | 'workers' | 'artifacts' | 'uploadsOf' | 'pinsOf' | 'documentsOf' | 'pathsOf',
  >(
    key: K,
  ) => needs.flatMap((n) => n[key] ?? []);
  const { registry, store } = turn.core;
  await registry.fetch(turn.pins, {
    jobs: gather('jobs'),
    tasks: gather('tasks'),
    workers: gather('workers'),
  });
  const pinned = gather('pinsOf').flatMap((id) => {
    const job = registry.tasks.get(id)?.row.job_id;
    return job !== undefined && registry.jobs.get(job)?.row.pins_fingerprint ? [job] : [];
  });
  const wanted = gather('documentsOf').flatMap((id) => registry.tasks.get(id)?.row.job_id ?? []);
  const asked = gather('pathsOf').filter((id) => registry.jobs.has(id));
  // Of all workers in memory, only where a message asks for it.
  const named =
    asked.length > 0 && [...registry.workers.values()].some(({ missing }) => missing.size > 0) ? asked : [];
  const artifacts = await store.loadBy(ARTIFACTS, 'id', [...new Set(gather('artifacts'))]);
  return {
    artifacts: new Map(artifacts.map((row) => [row.id, row])),
    uploads: await fetchUploads(turn, gather('uploadsOf')),
    keys: await fetchKeys(turn, needs),
    documents: await fetchDocuments(turn, new Set([...pinned, ...wanted, ...named])),
  };
}

async function fetchUploads(turn: Turn, tasks: string[]): Promise<Fetched['uploads']> {
  const found: Fetched['uploads'] = new Map();
  const rows = await turn.core.store.loadBy(TASK_ARTIFACTS, 'task_id', [...new Set(tasks)]);
  for (const { task_id, artifact_id } of rows) {
    found.set(task_id, (found.get(task_id) ?? new Set()).add(artifact_id));
  }
  return found;
}

async function fetchKeys(turn: Turn, needs: Needs[]): Promise<Fetched['keys']> {
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
