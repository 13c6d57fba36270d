import type { Message } from '../../gateway/messages.ts';
import { type Handler, keyOf, type Preload, type Preloaded } from './handlers/handler.ts';
import { HANDLERS } from './handlers/index.ts';
import { fetchJobPieces } from './jobs/fetch-job-pieces.ts';
import { differing, sql } from './store/sql.ts';
import { each, JOIN, member } from './store/sql-words.ts';
import { ARTIFACTS, TASK_ARTIFACTS } from './store/tables.ts';
import type { Turn } from './turn/turn.ts';

export const NOTHING_PRELOADED: Preloaded = {
  artifacts: new Map(),
  bestModels: new Map(),
  trusted: new Set(),
  uploads: new Map(),
  keys: new Map(),
  jobPieces: new Map(),
};

type Kind = Exclude<keyof Preload, 'key'>;
type Gathered = Record<Kind, string[]> & { keys: [owner: string, key: string][] };

/** What the messages need, each kind together, in one go: most messages need one thing of one kind. */
function gather(messages: readonly Message[]): Gathered {
  const gathered: Gathered = {
    ...{
      jobs: [],
      tasks: [],
      workers: [],
      artifacts: [],
      bestModelsOf: [],
      models: [],
      uploadsOf: [],
      pinsOf: [],
      piecesOf: [],
      pathsOf: [],
    },
    keys: [],
  };
  for (const message of messages) {
    const needs = (HANDLERS[message.type] as Handler<typeof message.type>).preload?.(message as never);
    if (!needs) continue;
    for (const kind in needs) {
      if (kind !== 'key') for (const id of needs[kind as Kind] ?? []) gathered[kind as Kind].push(id);
    }
    if (needs.key) gathered.keys.push([needs.key.owner, needs.key.key]);
  }
  return gathered;
}

/** Brings everything that the messages of a turn need into memory, in few queries. */
export async function preload(turn: Turn, messages: readonly Message[]): Promise<Preloaded> {
  const needs = gather(messages);
  const { directory, store } = turn.core;
  await directory.fetch(turn.references, { ...needs, jobs: [...needs.jobs, ...needs.bestModelsOf] });
  const pinned = needs.pinsOf.flatMap((id) => {
    const job = directory.tasks.get(id)?.row.job_id;
    return job !== undefined && directory.jobs.get(job)?.row.pins_fingerprint ? [job] : [];
  });
  const wanted = needs.piecesOf.flatMap((id) => directory.tasks.get(id)?.row.job_id ?? []);
  const asked = needs.pathsOf.filter((id) => directory.jobs.has(id));
  // Looks at every worker, so only if a message needs it.
  const named =
    asked.length > 0 && [...directory.workers.values()].some(({ missingPaths }) => missingPaths.size > 0)
      ? asked
      : [];
  const bestModels = new Map(
    needs.bestModelsOf.map((id) => [id, directory.jobs.get(id)?.row.best_model_artifact_id ?? null]),
  );
  const models = [...bestModels.values()].filter((id) => id !== null);
  const artifacts = await store.loadBy(ARTIFACTS, 'id', [...new Set([...needs.artifacts, ...models])]);
  return {
    artifacts: new Map(artifacts.map((row) => [row.id, row])),
    bestModels,
    trusted: await fetchTrusted(turn, [...needs.models, ...models]),
    uploads: await fetchUploads(turn, needs.uploadsOf),
    keys: await fetchKeys(turn, needs.keys),
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

/** SQL: whether a task asks for code of its submitter, as JSON. */
const ENTRYPOINT = differing(
  `r.document -> '$.capabilities.python_entrypoint'`,
  `(jq_json(r.document) #> '{capabilities,python_entrypoint}')::text`,
);

/**
 * The models that are as safe to load as what their workers are: those of tasks that went to every worker, also where
 * somebody has downloaded one and uploaded the very bytes again. What code of a submitter has made is code of that
 * submitter; of a task that is gone nobody knows.
 */
async function fetchTrusted(turn: Turn, models: string[]): Promise<Set<string>> {
  if (models.length === 0) return new Set();
  const rows = await turn.core.store.reader.all<{ id: string }[]>(
    sql`SELECT DISTINCT a.id FROM ${each('?', 'text', 'w')} ${JOIN} artifacts a ON a.id = w.value
     ${JOIN} artifacts m ON m.sha256 = a.sha256
     ${JOIN} task_artifacts u ON u.task_id = m.task_id AND u.artifact_id = m.id AND u.role = 'model'
     ${JOIN} tasks t ON t.id = m.task_id ${JOIN} requirements r ON r.id = t.requirement_id
     WHERE ${ENTRYPOINT} IS DISTINCT FROM 'true'`,
    JSON.stringify([...new Set(models)]),
  );
  return new Set(rows.map(({ id }) => id));
}

async function fetchKeys(turn: Turn, wanted: Gathered['keys']): Promise<Preloaded['keys']> {
  if (wanted.length === 0) return new Map();
  const rows = await turn.core.store.reader.all<
    { owner: string; key: string; job_id: string; meaning: string | null; request: string | null }[]
  >(
    sql`SELECT j.owner, j.idempotency_key AS key, j.id AS job_id, j.meaning,
            CASE WHEN j.meaning IS NULL THEN (SELECT request FROM job_requests r WHERE r.job_id = j.id) END AS request
     FROM ${each('?', 'text', 'w')}
     JOIN jobs j ON j.owner = ${member('w.value', 0)} AND j.idempotency_key = ${member('w.value', 1)}`,
    JSON.stringify(wanted),
  );
  return new Map(rows.map(({ owner, key, ...job }) => [keyOf(owner, key), job]));
}
