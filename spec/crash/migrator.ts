// Brings the store of a state directory to this program's version, in a process that can be killed.
import { SqliteStore } from '../../actors/server/store/sqlite-store.ts';

const store = await SqliteStore.open(process.argv[2] as string);
await store.close();
