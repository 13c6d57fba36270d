/** As SQLite says it. */
export const diskFull = () =>
  Object.assign(new Error('SQLITE_FULL: database or disk is full'), { code: 'SQLITE_FULL' });

/** Hooks of a store whose disk is full as long as the test says so. */
export function fillable() {
  const disk = {
    isFull: false,
    hooks: {
      beforeCommit: async () => {
        if (disk.isFull) throw diskFull();
      },
    },
  };
  return disk;
}
