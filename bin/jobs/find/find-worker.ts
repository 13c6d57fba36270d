import type { ClusterClient } from '../../../gateway/client/client.ts';
import { referredTo } from '../../../machines/protocol/reference.ts';
import { conditionOf } from '../../../machines/worker/condition.ts';
import { usageError } from '../../cli/exit.ts';
import { uniqueMatch } from './find-job.ts';

/** A whole id, for which the server need not be asked. */
const WHOLE_ID = /^worker_[0-9a-z]{26}$/;

/**
 * The ids of the workers that a person named: by id, the beginning or the end of it, or name.
 * @throws CliError where one names none, or several
 */
export async function workersNamed(client: ClusterClient, texts: readonly string[]): Promise<string[]> {
  if (texts.every((text) => WHOLE_ID.test(text))) return [...new Set(texts)];
  const workers = await client.call('listWorkers');
  const ids = texts.map((text) => {
    const found = uniqueMatch(text, 'worker', referredTo(text, workers), (worker) => conditionOf(worker));
    if (found !== undefined) return found.id;
    throw usageError(`there is no worker '${text}'`, 'see them with: jqctl workers');
  });
  return [...new Set(ids)];
}
