import { Type } from 'typebox';
import { type Checked, validator } from '../../machines/schema/validate.ts';
import type { Route } from '../contract/route.ts';
import { type RouteName, routeList } from '../contract/routes.ts';
import { type QueryReader, queryReader } from './query.ts';

/** A row of the route table with its checks compiled, once, at the start. */
export interface Endpoint<R extends Route = Route> {
  readonly name: RouteName;
  readonly route: R;
  /** Whether the path lies under `/v1`, where versions are noted. */
  readonly versioned: boolean;
  readonly readQuery: QueryReader;
  readonly checkBody: (value: unknown) => Checked<unknown>;
  /** Largest body in bytes. */
  readonly maxBytes: number;
}

const NO_BODY = Type.Object({});

/** Room for what a multipart body holds beside the file: boundaries, part headers, small fields. */
const MULTIPART_ROOM = 256 * 1024;

export function compileEndpoints(limits: { maxRequestBytes: number; maxArtifactBytes: number }): Endpoint[] {
  return routeList.map(([name, route]) => ({
    name,
    route,
    versioned: route.path.startsWith('/v1/'),
    readQuery: queryReader(route.query),
    checkBody: validator(route.kind === 'json' && route.body ? route.body : NO_BODY),
    maxBytes: route.kind === 'upload' ? limits.maxArtifactBytes + MULTIPART_ROOM : limits.maxRequestBytes,
  }));
}
