import { Type } from 'typebox';
import { DemandView } from '../../../machines/schema/demand.ts';
import { DirectUpload, DirectUploadReply } from '../../../machines/schema/direct-upload.ts';
import { ServersView } from '../../../machines/schema/servers.ts';
import {
  ArtifactUploaded,
  ClusterStats,
  StatsMinute,
  WorkerStatus,
  WorkerView,
} from '../../../machines/schema/views.ts';
import { download, json, StreamedReply, upload } from '../route.ts';
import { uploadDirectly } from './direct-upload.ts';

/** Of an input. */
const Kind = Type.Object({ kind: Type.Optional(Type.String({ default: 'input', maxLength: 100 })) });

export const cluster = {
  getStats: json({
    method: 'get',
    path: '/v1/stats',
    summary: 'Jobs and tasks by status, workers alive',
    right: 'read',
    tag: 'cluster',
    reply: ClusterStats,
    run: ({ backend }) => backend.reads.stats(),
  }),
  getStatsHistory: json({
    method: 'get',
    path: '/v1/stats/history',
    summary: 'One entry a minute for the last hour',
    right: 'read',
    tag: 'cluster',
    reply: Type.Array(StatsMinute),
    run: ({ backend }) => backend.reads.statsHistory(),
  }),
  getDemand: json({
    method: 'get',
    path: '/v1/demand',
    summary: 'How many slots are wanted now, by what they are to have, and what there is for it',
    right: 'read',
    tag: 'cluster',
    reply: DemandView,
    run: ({ backend }) => backend.reads.demand(),
  }),
  listServers: json({
    method: 'get',
    path: '/v1/servers',
    summary: 'The servers on the store: which one leads, since when, and how far the others are',
    right: 'read',
    tag: 'cluster',
    reply: ServersView,
    run: ({ backend }) => backend.reads.servers(),
  }),
  listWorkers: json({
    method: 'get',
    path: '/v1/workers',
    summary: 'Registered workers',
    right: 'read',
    tag: 'cluster',
    query: Type.Object({ status: Type.Optional(WorkerStatus) }),
    reply: Type.Array(WorkerView),
    run: ({ backend, query }) => new StreamedReply(backend.reads.workers(query.status)),
  }),
  getMe: json({
    method: 'get',
    path: '/v1/me',
    summary: 'The principal of the credential and its rights',
    right: 'read',
    tag: 'cluster',
    reply: Type.Object({ principal: Type.String(), rights: Type.Array(Type.String()) }),
    run: ({ principal }) => ({ principal: principal.name, rights: [...principal.rights] }),
  }),
  uploadArtifact: upload({
    method: 'post',
    path: '/v1/artifacts',
    summary: 'Upload an input artifact',
    right: 'submit',
    tag: 'artifacts',
    query: Kind,
    reply: ArtifactUploaded,
    run: ({ backend, principal, query }, blob) =>
      backend.send({ type: 'record_artifact', principal, ...blob, kind: query.kind ?? 'input' }),
  }),
  uploadArtifactDirectly: json({
    method: 'post',
    path: '/v1/artifacts/direct',
    summary: 'Upload an input artifact to the object store, past the server',
    right: 'submit',
    tag: 'artifacts',
    query: Kind,
    body: DirectUpload,
    reply: DirectUploadReply,
    errors: ['artifact_too_large', 'objects_unavailable'],
    run: ({ backend, principal, query, body }) =>
      uploadDirectly(backend, body, (blob) =>
        backend.send({ type: 'record_artifact', principal, ...blob, kind: query.kind ?? 'input' }),
      ),
  }),
  downloadArtifact: download({
    method: 'get',
    path: '/v1/artifacts/{id}',
    summary: 'The content of an artifact; ranges and ETag',
    right: 'read',
    tag: 'artifacts',
    errors: ['unknown_id', 'artifact_lost', 'range_not_satisfiable'],
    find: ({ backend, params }) => backend.reads.artifact(params.id as string),
  }),
};
