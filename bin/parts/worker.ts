import type { WorkerConfig as AgentConfig } from '../../actors/agent/config.ts';
import { mljsRunner } from '../../actors/agent/runners/mljs/index.ts';
import { type RunningWorker, startWorkerProgram } from '../../actors/agent/worker.ts';
import { type LogConfig, openLog } from './log.ts';

/** Everything that `jq-worker` can be told; `runners` default to the embedded one. */
export interface WorkerConfig extends LogConfig, Omit<AgentConfig, 'log' | 'runners'> {
  runners?: AgentConfig['runners'] | undefined;
}

export type { RunningWorker };

/**
 * Puts a worker program together. Resolves once it is registered, or once it is clear that the server is away:
 * then it goes on trying.
 * @throws StartFault for a state directory that cannot be used; `AnsweredError` when the server refuses it
 */
export async function startWorker(config: WorkerConfig): Promise<RunningWorker> {
  const { log, close } = await openLog('jq-worker', config);
  try {
    const worker = await startWorkerProgram({ ...config, runners: config.runners ?? [mljsRunner], log });
    worker.ended.then(close, close);
    return worker;
  } catch (fault) {
    close();
    throw fault;
  }
}
