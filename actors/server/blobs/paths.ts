/** Where a blob lies below the state directory. */
export const objectPath = (sha256: string): string =>
  `objects/${sha256.slice(0, 2)}/${sha256.slice(2, 4)}/${sha256}`;

/** Where the bytes of an object lie once they were found damaged, so that nobody is given them any more. */
export const damagedPath = (sha256: string): string => `${objectPath(sha256)}.damaged`;

export const isHash = (name: string): boolean => /^[0-9a-f]{64}$/.test(name);

/** Among the objects, for what comes from another file system. */
export const COMING = 'objects/.coming';
