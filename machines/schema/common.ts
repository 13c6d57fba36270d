import { type TSchema, Type } from 'typebox';
import { LIMITS } from '../protocol/limits.ts';
import { ABSENT } from './lenient.ts';

/** Float seconds since the epoch, UTC. */
export const Seconds = Type.Number({ description: 'seconds since the epoch, UTC', [ABSENT]: Number.NaN });

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** A closed set of words. */
export const Words = <const T extends readonly string[]>(words: T, description?: string) =>
  Type.Unsafe<T[number]>({
    type: 'string',
    enum: [...words],
    ...(description !== undefined && { description }),
  });

/** A map whose keys are free and whose values are text. */
export const TextMap = Type.Record(Type.String(), Type.String());

/** A map of free keys that is matched or shown: its size is limited (docs/protocol.md#limits). */
export const Bounded = <T extends TSchema>(value: T, description?: string) =>
  Type.Record(Type.String(), value, {
    maxProperties: LIMITS.members,
    propertyNames: { type: 'string', maxLength: LIMITS.key },
    ...(description !== undefined && { description }),
  });

/** Labels, of a worker or that a job asks for. */
export const Labels = Bounded(Type.String({ maxLength: LIMITS.value }));

/** What something is called. */
export const Name = Type.String({ maxLength: LIMITS.name });

/** Any JSON object; its members are not this system's business. */
export const AnyObject = Type.Record(Type.String(), Type.Unknown());

export const Id = (what: string) => Type.String({ minLength: 1, maxLength: 200, description: `${what} id` });
