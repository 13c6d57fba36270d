import { type TSchema, Type } from 'typebox';

/** Float seconds since the epoch, UTC. */
export const Seconds = Type.Number({ description: 'seconds since the epoch, UTC' });

export const Nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

/** A closed set of words. */
export const Words = <const T extends readonly string[]>(words: T) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...words] });

/** A map whose keys are free and whose values are text. */
export const TextMap = Type.Record(Type.String(), Type.String());

/** Any JSON object; its members are not this system's business. */
export const AnyObject = Type.Record(Type.String(), Type.Unknown());

export const Id = (what: string) => Type.String({ minLength: 1, maxLength: 200, description: `${what} id` });
