import type { Backend } from '../../gateway/backend.ts';
import { readTasks, seen } from '../support/views.ts';
import type { Act } from './acts.ts';
import type { Names } from './compare.ts';

/** A job or worker whose creation was never answered, found in the lists. */
export interface Newcomer {
  id: string;
  tasks: string[];
}

export async function findNewcomer(port: Backend, act: Act, names: Names): Promise<Newcomer | null> {
  const isNew = ({ id }: { id: string }) => names.nameOf(id) === id;
  if (act.act === 'register') {
    const found = (await seen(port).workers()).find(isNew);
    return found ? { id: found.id, tasks: [] } : null;
  }
  if (act.act !== 'submit') return null;
  const found = (await seen(port).jobs({ limit: 1000 })).find(isNew);
  if (!found) return null;
  return { id: found.id, tasks: (await readTasks(port, found.id)).map((task) => task.id) };
}

export function bindNewcomer(names: Names, { ticket, act }: Act, { id, tasks }: Newcomer): void {
  const name = act === 'submit' ? `J${ticket}` : `W${ticket}`;
  names.bind(name, id);
  for (const [i, task] of tasks.entries()) names.bind(`${name}.${i}`, task);
}
