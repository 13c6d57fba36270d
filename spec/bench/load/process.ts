import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { LoadName, Loads } from './loads.ts';

type ParamsOf<Name extends LoadName> = Parameters<Loads[Name]>[0];
type Result<Name extends LoadName> = Awaited<ReturnType<Loads[Name]>>;

/** What a load process sends to the bench. */
export type FromLoad = { ready: true } | { done: unknown; cpuSeconds: number } | { fault: string };

/** A load that has connected and waits for the word. */
export interface StartedLoad<Name extends LoadName> {
  /** Says go; resolves with what was measured. */
  go(): Promise<Result<Name> & { generatorCpuSeconds: number }>;
  stop(): void;
}

const running = new Set<ChildProcess>();

/** Starts a load in a process of its own and waits until it has connected. */
export async function startLoad<Name extends LoadName>(
  name: Name,
  params: ParamsOf<Name>,
): Promise<StartedLoad<Name>> {
  const child = forkScript('main.ts');
  let heard: (message: FromLoad) => void = () => {};
  const fault = new Promise<never>((_, reject) => {
    child.on('error', reject);
    child.on('exit', (code, signal) =>
      reject(new Error(`the load '${name}' ended early (${code ?? signal})`)),
    );
    child.on('message', (message: FromLoad) => {
      if ('fault' in message) reject(new Error(`the load '${name}' failed: ${message.fault}`));
      else heard(message);
    });
  });
  fault.catch(() => {});
  const next = () =>
    new Promise<FromLoad>((resolve) => {
      heard = resolve;
    });
  const ready = next();
  child.send({ name, params });
  await Promise.race([ready, fault]);
  return {
    async go() {
      const done = next();
      child.send('go');
      const message = await Promise.race([done, fault]);
      child.disconnect();
      if (!('done' in message)) throw new Error(`the load '${name}' was not ready`);
      return { ...(message.done as Result<Name>), generatorCpuSeconds: message.cpuSeconds };
    },
    stop: () => child.kill('SIGKILL'),
  };
}

/** Runs a load in a process of its own to its end. */
export async function runLoad<Name extends LoadName>(name: Name, params: ParamsOf<Name>) {
  const load = await startLoad(name, params);
  return load.go();
}

/** Starts a script of this folder as a process with a message channel. */
export function forkScript(script: string, argv: string[] = []): ChildProcess {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), argv, {
    execArgv: ['--import', 'tsx'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
