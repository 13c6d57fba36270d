import type { Route } from '../../contract/route.ts';
import { type RouteName, routeList } from '../../contract/routes.ts';
import { type BodyParser, bodyParser } from '../parsing/parse-body.ts';
import { type QueryReader, queryReader } from '../request/query.ts';

/** A row of the route table with its checks compiled, once, at the start. */
export interface Endpoint<R extends Route = Route> {
  readonly name: RouteName;
  readonly route: R;
  /** Whether the path lies under `/v1`, where versions are noted. */
  readonly versioned: boolean;
  readonly readQuery: QueryReader;
  /** For bodies that are small enough to be read at once. */
  readonly parseBody: BodyParser;
  /** Largest body in bytes. */
  readonly maxBytes: number;
}

const NO_BODY = { right: null };

/** Room for what a multipart body holds beside the file: boundaries, part headers, small fields. */
const MULTIPART_ROOM = 256 * 1024;

/** @param open routes that need no credential here, whatever the table says */
export function compileEndpoints(
  limits: { maxRequestBytes: number; maxArtifactBytes: number },
  open: readonly RouteName[] = [],
): Endpoint[] {
  return routeList.map(([name, route]) => ({
    name,
    route: open.includes(name) ? { ...route, right: null } : route,
    versioned: route.path.startsWith('/v1/'),
    readQuery: queryReader(route.query),
    parseBody: bodyParser(route.kind === 'json' ? route : NO_BODY),
    maxBytes: route.kind === 'upload' ? limits.maxArtifactBytes + MULTIPART_ROOM : limits.maxRequestBytes,
  }));
}
