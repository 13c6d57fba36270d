import { type Static, Type } from 'typebox';
import { Nullable, TextMap } from './common.ts';
import { ArtifactUploaded } from './views.ts';

/** Bytes that somebody has, and wants to be an artifact without sending them through the server. */
export const DirectUpload = Type.Object({
  sha256: Type.String({ pattern: '^[0-9a-f]{64}$', description: 'of the bytes, as hex' }),
  size_bytes: Type.Integer({ minimum: 0 }),
  filename: Type.Optional(Nullable(Type.String())),
});

/** A request by which they come where they belong. */
export const DirectPut = Type.Object({
  url: Type.String({ description: 'good for minutes, for whoever has it; it needs no credential there' }),
  headers: Type.Unsafe<Record<string, string>>({
    ...TextMap,
    description: 'that it has to have beside its length; all are signed, and hold it to these bytes',
  }),
});

export const DirectUploadReply = Type.Object({
  artifact: Type.Unsafe<Static<typeof ArtifactUploaded> | null>({
    ...Nullable(ArtifactUploaded),
    description: 'where the bytes were found in the object store: it is recorded',
  }),
  put: Type.Unsafe<Static<typeof DirectPut> | null>({
    ...Nullable(DirectPut),
    description: 'how they come there; then the same is asked again. Both null: they come through the server',
  }),
});

export type DirectUpload = Static<typeof DirectUpload>;
export type DirectPut = Static<typeof DirectPut>;
export type DirectUploadReply = Static<typeof DirectUploadReply>;
