import { type Static, Type } from 'typebox';
import { AnyObject } from './common.ts';

/** The generation of the format, as `@statelyai/inspect` numbers it; receivers ask for the member to be there. */
export const INSPECTION_VERSION = '0.7.2';

const Common = {
  sessionId: Type.String({ description: 'the id of the actor: of a job, task or worker, or `supervisor`' }),
  rootId: Type.String({ description: 'the same: every actor is the root of its own system' }),
  createdAt: Type.String({ description: 'milliseconds since the epoch, in digits' }),
  id: Type.Null(),
  _version: Type.String(),
};

const Snapshot = Type.Object(
  { status: Type.String(), value: Type.Unknown(), context: AnyObject },
  { additionalProperties: true, description: 'of XState; long texts in it are cut' },
);

const Event = Type.Object(
  { type: Type.String() },
  { additionalProperties: true, description: 'long texts in it are cut' },
);

/** An actor came into motion, or was in motion when the stream began. */
export const InspectedActor = Type.Object({
  type: Type.Literal('@xstate.actor'),
  name: Type.String(),
  ...Common,
  definition: Type.String({ description: "the machine's configuration as JSON text" }),
  snapshot: Snapshot,
});

/** An event was sent to an actor. */
export const InspectedEvent = Type.Object({
  type: Type.Literal('@xstate.event'),
  ...Common,
  sourceId: Type.String({ description: 'the actor that it comes from' }),
  event: Event,
});

/** What the event before it led to; the same as before when the state does not take the event. */
export const InspectedSnapshot = Type.Object({
  type: Type.Literal('@xstate.snapshot'),
  ...Common,
  event: Event,
  snapshot: Snapshot,
});

/** One frame of the inspection stream, in the format that Stately's inspector reads. */
export const InspectionMessage = Type.Union([InspectedActor, InspectedEvent, InspectedSnapshot]);
export type InspectionMessage = Static<typeof InspectionMessage>;
