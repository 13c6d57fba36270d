import { type Static, Type } from 'typebox';
import { Nullable, Words } from './common.ts';

const SERVER_STATUSES = ['leading', 'standing_by', 'silent'] as const;

/** One of the servers on a store. */
export const ServerView = Type.Object({
  id: Type.String({ description: 'of this start of the program' }),
  place: Type.String({ description: 'machine and process, for people' }),
  address: Nullable(Type.String({ description: 'where clients and other servers reach it' })),
  version: Type.String(),
  status: Words(
    SERVER_STATUSES,
    '`silent`: nothing was heard of it for 5 s, or it led before; it is forgotten after a minute',
  ),
  since: Type.Number({ description: 'when it began to lead, or to stand by' }),
  epoch: Nullable(
    Type.Integer({ description: 'of the one that leads, or led last; null in a state directory, too' }),
  ),
  last_seen_at: Type.Number({ description: 'by the clock of the database' }),
  differs: Type.Array(Type.String(), {
    description:
      'what it was told otherwise than the one that leads: flags, and credentials by their principals',
  }),
  event_id: Type.Integer({ description: 'of the last event that it knew then' }),
});

export const ServersView = Type.Object({
  servers: Type.Array(ServerView, { description: 'the one that leads in front' }),
  last_event_id: Type.Integer({ description: 'of the last event of all' }),
});

export type ServerView = Static<typeof ServerView>;
export type ServersView = Static<typeof ServersView>;
