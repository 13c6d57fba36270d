import { Type } from 'typebox';
import { ClusterError } from '../../../machines/protocol/errors.ts';
import { ABSENT } from '../../../machines/schema/lenient.ts';
import { API_VERSION } from '../../version.ts';
import { json, page, text } from '../route.ts';

const Version = { service: Type.String(), version: Type.String(), api_version: Type.Integer() };

export const health = {
  root: json({
    method: 'get',
    path: '/',
    summary: 'What this is, and that it is up',
    right: null,
    tag: 'health',
    reply: Type.Object({ ...Version, ok: Type.Boolean() }),
    run: ({ facts }) => ({
      service: facts.service,
      version: facts.version,
      api_version: API_VERSION,
      ok: true,
    }),
  }),
  healthz: json({
    method: 'get',
    path: '/healthz',
    summary: 'Liveness',
    right: null,
    tag: 'health',
    reply: Type.Object({ ok: Type.Boolean() }),
    run: () => ({ ok: true }),
  }),
  readyz: json({
    method: 'get',
    path: '/readyz',
    summary:
      'Readiness: the server has recovered and commits, or stands by and sends on to the one that does',
    right: null,
    tag: 'health',
    reply: Type.Object({
      ok: Type.Boolean(),
      time: Type.Number({ description: "the server's clock" }),
      leads: Type.Boolean({ description: 'whether no other server does', [ABSENT]: true }),
    }),
    errors: ['store_unavailable', 'standing_by', 'draining'],
    run: ({ backend }) => {
      const { state } = backend;
      const leads = state === 'serving';
      if (leads || state === 'standing_by') return { ok: true, time: Date.now() / 1000, leads };
      if (state === 'taking_over')
        throw new ClusterError('standing_by', 'this server is taking over; try again in a moment');
      throw state === 'degraded'
        ? new ClusterError('store_unavailable', 'the store cannot commit; the log of the server says why')
        : new ClusterError('draining', 'the server is shutting down');
    },
  }),
  metrics: text({
    method: 'get',
    path: '/metrics',
    summary: 'Metrics for Prometheus, or as OpenMetrics; without a credential with --metrics-open',
    right: 'read',
    tag: 'cluster',
    types: ['text/plain', 'application/openmetrics-text'],
    run: (backend, accept) => backend.metrics.text(accept),
  }),
  version: json({
    method: 'get',
    path: '/version',
    summary: 'Service, package version and protocol major',
    right: null,
    tag: 'health',
    reply: Type.Object(Version),
    run: ({ facts }) => ({ service: facts.service, version: facts.version, api_version: API_VERSION }),
  }),
  dashboard: page({
    method: 'get',
    path: '/ui',
    summary: 'The operations dashboard',
    right: null,
    tag: 'health',
  }),
};
