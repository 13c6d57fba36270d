// Copies a store as jq-server does, and kills itself on the way: `copier.ts FROM TO MOMENT [COMMIT]`.
import { copyStore } from '../../actors/server/copy/copy-store.ts';
import { PostgresStore } from '../../actors/server/store/postgres/postgres-store.ts';
import { SqliteStore } from '../../actors/server/store/sqlite-store.ts';

/** When it dies: before or after a commit, while nobody knows what becomes of it, or when rows are compared. */
export type Moment = 'before' | 'during' | 'after' | 'comparing';

const [from = '', to = '', moment = '', nth = '1'] = process.argv.slice(2);
const die = () => process.kill(process.pid, 'SIGKILL');

let commits = 0;
for (const { prototype } of [PostgresStore, SqliteStore]) {
  const { commit } = prototype;
  prototype.commit = async function (changes) {
    const isIt = ++commits === Number(nth);
    if (isIt && moment === 'before') die();
    const written = commit.call(this, changes);
    if (isIt && moment === 'during') setImmediate(die);
    await written;
    if (isIt && moment === 'after') die();
  };
}
await copyStore({
  ...{ from, to },
  onProgress(table, pass) {
    if (moment === 'comparing' && pass === 'compares' && table === 'tasks') die();
  },
});
