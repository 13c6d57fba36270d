// Brings the store of a state directory to this program's version, in a process that can be killed.
import { Store } from '../../actors/server/store/store.ts';

const store = await Store.open(process.argv[2] as string);
await store.close();
