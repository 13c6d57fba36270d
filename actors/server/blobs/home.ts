/** Where the objects of a store lie that are not in the state directory. */
export interface ObjectHome {
  /** Of the store; it is also written where its objects lie. */
  id: string;
  /** Such as `s3://bucket/prefix`. */
  url: string;
}

interface Reading {
  get(sql: string): Promise<unknown>;
}

/** The folder of the state directory, as the store has it. */
const FOLDER = '';

/** What the store says of it; undefined where it never had its objects elsewhere, or is of an earlier version. */
async function written(store: Reading): Promise<ObjectHome | undefined> {
  try {
    return (await store.get('SELECT id, url FROM object_home')) as ObjectHome | undefined;
  } catch (error) {
    if (/no such table/.test((error as Error).message)) return undefined;
    throw error;
  }
}

/** Undefined for the folder of the state directory. */
export async function objectHome(store: Reading): Promise<ObjectHome | undefined> {
  const home = await written(store);
  return home?.url === FOLDER ? undefined : home;
}

/** The id of a store, where it has one. */
export const storeId = async (store: Reading): Promise<string | undefined> => (await written(store))?.id;

/** What makes it so. @param url undefined for the folder */
export const homeStatements = (id: string, url: string | undefined): { sql: string; params: string[] }[] => [
  { sql: 'DELETE FROM object_home', params: [] },
  { sql: 'INSERT INTO object_home (id, url) VALUES (?, ?)', params: [id, url ?? FOLDER] },
];
