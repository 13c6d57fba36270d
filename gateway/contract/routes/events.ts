import { Type } from 'typebox';
import { EventView } from '../../../machines/schema/views.ts';
import { json, StreamedReply, stream } from '../route.ts';
import { AfterId, assertGiven, BeforeId, clamp, EVENTS_LIMIT, limit, Token } from './query.ts';

/** What happens in the whole server: its events, and beneath them what its actors do. */
export const events = {
  listEvents: json({
    method: 'get',
    path: '/v1/events',
    summary: 'The last events of all jobs and workers, or those after an id, oldest first',
    right: 'read',
    tag: 'cluster',
    query: Type.Object({ after_id: AfterId, before_id: BeforeId, limit: limit(EVENTS_LIMIT) }),
    reply: Type.Array(EventView),
    errors: ['unknown_id'],
    run: async ({ backend, query: { after_id, before_id, limit } }) => {
      await assertGiven(backend.events, after_id);
      return new StreamedReply(
        backend.reads.eventList({
          after_id: after_id ?? 0,
          before_id: before_id ?? (after_id === undefined ? Number.MAX_SAFE_INTEGER : undefined),
          limit: clamp(limit, EVENTS_LIMIT),
        }),
      );
    },
  }),
  streamEvents: stream({
    method: 'get',
    path: '/v1/events/stream',
    summary: 'WebSocket: all events, the last 200 (or those after an id) first, then live',
    right: 'read',
    tag: 'cluster',
    query: Type.Object({ token: Token, after_id: AfterId }),
    errors: ['unknown_id'],
    of: 'events',
    scope: () => undefined,
  }),
  inspect: stream({
    method: 'get',
    path: '/v1/inspect',
    summary: "WebSocket: what the server's actors do, as Stately's inspector reads it",
    right: 'admin',
    tag: 'cluster',
    query: Type.Object({
      token: Token,
      actor: Type.Optional(
        Type.String({
          minLength: 1,
          description:
            'only this actor: the id of a job, task or worker, or `supervisor`; without it all of them, the ' +
            'tasks and jobs as soon as a worker holds them',
        }),
      ),
    }),
    errors: ['unknown_id'],
    of: 'inspection',
    scope: (_, { actor }) => actor,
  }),
};
