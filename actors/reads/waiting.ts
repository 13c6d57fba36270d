import type { Prepared } from '../store/prepared.ts';
import { cutDocument } from '../supervisor/documents.ts';
import type { Live } from '../supervisor/live.ts';
import { placesOf } from '../supervisor/named-paths.ts';

/** What a queued task waits for beyond its requirement, as JSON text that is the same for all that wait for the same. */
export const MARK = `json_array(t.requirement_id, t.avoids, t.not_before > moment.now,
  iif(t.payload ->> 'pipeline' IN (SELECT value FROM json_each(moment.pipelines)), t.payload ->> 'pipeline', NULL),
  iif(t.payload ->> 'dataset' IN (SELECT value FROM json_each(moment.datasets)), t.payload ->> 'dataset', NULL))`;

/** Its parameters: the present second, and the pipelines and datasets of the job that some worker lacks, as JSON. */
export const MOMENT = 'moment (now, pipelines, datasets) AS MATERIALIZED (SELECT ?, ?, ?)';

type Mark = [
  requirement: number,
  avoids: string | null,
  backoff: 0 | 1 | null,
  pipeline: number | null,
  dataset: number | null,
];

const MARKS = `WITH ${MOMENT} SELECT DISTINCT ${MARK} AS mark FROM tasks t, moment WHERE t.job_id = ? AND t.status = 'queued'`;
/** Where no path is known to be missing, an index finds the few. */
const FEW_MARKS = `${MARKS} AND (t.avoids IS NOT NULL OR t.not_before IS NOT NULL)`;

/** What the tasks of a job wait for that wait for more than their requirement; none for nearly all jobs. */
export async function marksOf(db: Prepared, live: Live, jobId: string) {
  const lacked = await lackedPlaces(db, live, jobId);
  const moment = [
    live.now,
    ...[lacked.pipelines, lacked.datasets].map((places) => JSON.stringify([...places.keys()])),
  ];
  const isFew = lacked.pipelines.size + lacked.datasets.size === 0;
  const rows = await db.all<{ mark: string }[]>(isFew ? FEW_MARKS : MARKS, ...moment, jobId);
  const marks = rows.map(({ mark }) => {
    const [requirement, avoids, backoff, pipeline, dataset] = JSON.parse(mark) as Mark;
    const paths = [lacked.pipelines.get(pipeline ?? -1), lacked.datasets.get(dataset ?? -1)];
    const waiting = live.waitingFor({
      requirement,
      avoids: avoids === null ? [] : (JSON.parse(avoids) as string[]),
      paths: paths.filter((path) => path !== undefined),
      backoff: backoff === 1,
    });
    return [mark, JSON.stringify(waiting)];
  });
  return { marks, moment };
}

/** The pipelines and datasets of a job whose path some worker lacks, by their places. */
async function lackedPlaces(db: Prepared, live: Live, jobId: string): Promise<ReturnType<typeof placesOf>> {
  const missing = live.missingPaths();
  if (missing.size === 0) return { pipelines: new Map(), datasets: new Map() };
  const row = await db.get<{ request: string }>('SELECT request FROM job_requests WHERE job_id = ?', jobId);
  if (!row) return { pipelines: new Map(), datasets: new Map() };
  return placesOf(cutDocument(row.request), (path) => missing.has(path));
}
