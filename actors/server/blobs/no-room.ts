const NO_ROOM = new Set(['ENOSPC', 'EDQUOT', 'EFBIG', 'SQLITE_FULL']);

/** Whether a fault says that a disk is full, or what a user may take of it. */
export const hasNoRoom = (error: unknown): boolean =>
  NO_ROOM.has((error as NodeJS.ErrnoException | null)?.code ?? '');
