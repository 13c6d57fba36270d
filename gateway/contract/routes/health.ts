import { Type } from 'typebox';
import { API_VERSION } from '../../version.ts';
import { json, page } from '../route.ts';

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
