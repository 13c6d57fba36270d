import { type Static, Type } from 'typebox';
import { LIMITS } from '../../../machines/protocol/limits.ts';
import type { Principal } from '../../../machines/protocol/rights.ts';
import { Words } from '../../../machines/schema/common.ts';
import { TYPE_ENDINGS, type TypeEnding } from '../../../machines/schema/job-types.ts';
import { JobStatus } from '../../../machines/schema/views.ts';
import type { JobQuery } from '../../backend.ts';
import { clamp, JOBS_LIMIT, limit } from './query.ts';

/** What a list of jobs may be asked by. */
export const JobListQuery = Type.Object({
  status: Type.Optional(JobStatus),
  name: Type.Optional(Type.String({ description: 'substring, case-insensitive' })),
  ref: Type.Optional(
    Type.String({
      maxLength: LIMITS.name,
      description:
        'what a person wrote for a job: its id, the beginning of it (`job_01k9`), its end (`7fq1bvvs`), each of at ' +
        'least four characters and with or without an ellipsis, or its whole name',
    }),
  ),
  resubmitted_from: Type.Optional(
    Type.String({ maxLength: 200, description: 'only repeated and changed submissions of this job' }),
  ),
  owner: Type.Optional(
    Type.String({ description: 'the principal that submitted it; `me` is the one that asks' }),
  ),
  type: Type.Optional(Type.String({ maxLength: LIMITS.type, description: 'such as `mljs.run`' })),
  library: Type.Optional(
    Type.String({ maxLength: LIMITS.type, description: 'that runs it, such as `mljs`' }),
  ),
  kind: Type.Optional(Words(TYPE_ENDINGS, 'whether they run pipelines or predict with a model')),
  tag: Type.Optional(
    Type.String({
      maxLength: LIMITS.tags * (LIMITS.tag + 1),
      description: 'a tag that it has; with commas between them, several that it has all of',
    }),
  ),
  since: Type.Optional(Type.Number({ description: 'submitted then or later, seconds since the epoch' })),
  until: Type.Optional(Type.Number({ description: 'submitted before, seconds since the epoch' })),
  limit: limit(JOBS_LIMIT),
  created_before: Type.Optional(
    Type.Number({ description: 'the cursor of pages: `created_at` of the last job of the one before' }),
  ),
});

/** The query that is meant. */
export function jobQuery(
  { type, library, kind, tag, since, until, owner, created_before, ...asked }: Static<typeof JobListQuery>,
  principal: Principal,
): JobQuery {
  const ends = [until, created_before].filter((end) => end !== undefined);
  const tags = tag?.split(',').flatMap((one) => one.trim() || []) ?? [];
  const types = typesOf({ type, library, kind });
  return {
    ...asked,
    limit: clamp(asked.limit, JOBS_LIMIT),
    ...(owner !== undefined && { owner: owner === 'me' ? principal.name : owner }),
    ...(types !== undefined && { types }),
    ...(types === undefined && kind !== undefined && { kind }),
    ...(tags.length > 0 && { tags: [...new Set(tags)] }),
    ...(since !== undefined && { created_from: since }),
    ...(ends.length > 0 && { created_before: Math.min(...ends) }),
  };
}

interface TypesAsked {
  type: string | undefined;
  library: string | undefined;
  kind: TypeEnding | undefined;
}

/** The types that all of them allow; undefined where those of any library are. */
function typesOf({ type, library, kind }: TypesAsked): string[] | undefined {
  if (library === undefined && type === undefined) return undefined;
  const types = library === undefined ? [type as string] : TYPE_ENDINGS.map((one) => `${library}.${one}`);
  return types.filter((one) => (type ?? one) === one && (kind === undefined || one.endsWith(`.${kind}`)));
}
