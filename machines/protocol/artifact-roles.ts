/** What files of a task are for, where this system knows it (docs/protocol.md#artifacts). */
export const KNOWN_ROLES = [
  'model',
  'logs',
  'workspace',
  'predictions',
  'curves',
  'spectra',
  'preprocessed',
] as const;
/** That of all others, of which a task may have many; a result does not name them. */
export const OUTPUT = 'output';

export type FileRole = (typeof KNOWN_ROLES)[number] | typeof OUTPUT;
