import { setPrivateUmask } from '../../actors/shared/file-modes.ts';
import type { WorkerConfig as AgentConfig } from '../../actors/worker/config.ts';
import { type RunningWorker as RunningAgent, startWorkerProgram } from '../../actors/worker/worker.ts';
import { allocationOf } from './allocation.ts';
import { type LogConfig, openLog } from './log.ts';
import { findRunners, type RunnerChoice } from './runners.ts';
import { checkNamed } from './worker-checks.ts';

/** Everything that `jq-worker` can be told; `runners` default to those that are found. */
export interface WorkerConfig
  extends LogConfig,
    RunnerChoice,
    Omit<AgentConfig, 'log' | 'runners' | 'python'> {
  runners?: AgentConfig['runners'] | undefined;
}

/** A worker program with its log. */
export type RunningWorker = RunningAgent & { reopenLog(): void };

/**
 * Puts a worker program together. Resolves once it is registered, or once it is clear that the server is away:
 * then it goes on trying.
 * @throws StartError for a state directory that cannot be used, or a runner that cannot; `ResponseError` when the
 *   server refuses it
 */
export async function startWorker(config: WorkerConfig): Promise<RunningWorker> {
  setPrivateUmask();
  const { log, reopen, close } = await openLog('jq-worker', config);
  try {
    const { runners } = config;
    const allocation = await allocationOf(process.env, log);
    const lent = {
      endsAt: config.endsAt ?? allocation?.endsAt ?? undefined,
      noticeSeconds: config.noticeSeconds ?? allocation?.noticeSeconds,
    };
    const found = runners ? { runners } : await findRunners(config, log);
    await checkNamed({ ...config, ...found }, log);
    const worker = await startWorkerProgram({ ...config, ...lent, python: undefined, ...found, log });
    worker.ended.then(close, close);
    return Object.assign(worker, { reopenLog: reopen });
  } catch (error) {
    close();
    throw error;
  }
}
