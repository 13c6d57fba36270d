import type { ArtifactView } from '../../machines/schema/views.ts';
import type { Prepared } from '../store/prepared.ts';
import type { JobRow } from '../store/rows.ts';

interface UploadRow {
  task_id: string;
  role: string;
  artifact_id: string;
}

interface StoredRow {
  id: string;
  sha256: string;
  kind: string;
  size_bytes: number;
  created_at: number;
  filename: string | null;
  metadata: string;
}

/**
 * The artifacts of a job (contract, "Artifacts"): what each task's last attempt uploaded; in the roles that
 * an accepted result names, exactly what it names. The best task's model stands once more as `best_model`.
 */
export async function listArtifacts(db: Prepared, job: JobRow): Promise<ArtifactView[]> {
  const uploads = await db.all<UploadRow[]>(
    `SELECT u.task_id, u.role, u.artifact_id FROM tasks t
     JOIN task_artifacts u ON u.task_id = t.id AND u.attempt = t.attempt
     WHERE t.job_id = ? ORDER BY t.seq, u.role, u.artifact_id`,
    job.id,
  );
  const results = await db.all<{ id: string; artifacts: string | null }[]>(
    `SELECT id, iif(json_valid(result), json_extract(result, '$.artifacts'), NULL) AS artifacts FROM tasks
     WHERE job_id = ? AND status = 'succeeded' ORDER BY seq`,
    job.id,
  );
  const listed: UploadRow[] = [];
  const named = new Map<string, Record<string, string | null>>();
  for (const { id, artifacts } of results) if (artifacts !== null) named.set(id, JSON.parse(artifacts));
  for (const upload of uploads) {
    const roles = named.get(upload.task_id);
    if (!roles || !Object.hasOwn(roles, upload.role)) listed.push(upload);
  }
  for (const [task_id, roles] of named) {
    for (const [role, artifact_id] of Object.entries(roles)) {
      if (artifact_id !== null) listed.push({ task_id, role, artifact_id });
    }
  }
  const ids = [...listed.map((row) => row.artifact_id), job.best_model_artifact_id].filter(
    (id) => id !== null,
  );
  const stored = await db.all<StoredRow[]>(
    'SELECT * FROM artifacts WHERE id IN (SELECT value FROM json_each(?))',
    JSON.stringify(ids),
  );
  const byId = new Map(stored.map((row) => [row.id, row]));
  const view = (role: string, task_id: string | null, id: string): ArtifactView[] => {
    const row = byId.get(id);
    if (!row) return [];
    const { sha256, kind, size_bytes, created_at, filename, metadata } = row;
    return [
      { role, task_id, id, sha256, kind, size_bytes, created_at, filename, metadata: JSON.parse(metadata) },
    ];
  };
  const views = listed.flatMap(({ role, task_id, artifact_id }) => view(role, task_id, artifact_id));
  if (job.best_model_artifact_id !== null)
    views.unshift(...view('best_model', null, job.best_model_artifact_id));
  return views;
}
