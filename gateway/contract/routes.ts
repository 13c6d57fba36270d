import type { Route } from './route.ts';
import { cluster } from './routes/cluster.ts';
import { description } from './routes/description.ts';
import { events } from './routes/events.ts';
import { health } from './routes/health.ts';
import { jobs } from './routes/jobs.ts';
import { machines } from './routes/machines.ts';
import { operate } from './routes/operate.ts';
import { python } from './routes/python.ts';
import { workers } from './routes/workers.ts';

type Table = readonly (readonly [string, Route])[];

/**
 * Every endpoint, once. Validation, authorisation, OpenAPI and the typed client all come from this table. A row names
 * the message or the read that an endpoint stands for. It checks what concerns the request alone, and puts the answer
 * into its form; what becomes of jobs, tasks and workers is decided behind it.
 */
export const routes = {
  ...health,
  ...description((): Table => routeList),
  ...python((): Table => routeList),
  ...jobs,
  ...events,
  ...cluster,
  ...machines,
  ...workers,
  ...operate,
};

export type Routes = typeof routes;
export type RouteName = keyof Routes;

/** The table without the types of its rows, for those who walk it. */
export const routeList: readonly (readonly [RouteName, Route])[] = Object.entries(routes) as unknown as [
  RouteName,
  Route,
][];
