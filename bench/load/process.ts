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
}

const running = new Set<ChildProcess>();
/** Load processes with nothing to do: the next load takes one, since starting one costs most of a second. */
const idle: ChildProcess[] = [];

process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Starts a load in a process of its own and waits until it has connected. */
export async function startLoad<Name extends LoadName>(
  name: Name,
  params: ParamsOf<Name>,
): Promise<StartedLoad<Name>> {
  const child = idle.pop() ?? forkScript('main.ts');
  hold(child, true);
  await answer(child, name, { name, params });
  return {
    async go() {
      const message = await answer(child, name, 'go');
      hold(child, false);
      idle.push(child);
      if (!('done' in message)) throw new Error(`the load '${name}' was not ready`);
      return { ...(message.done as Result<Name>), generatorCpuSeconds: message.cpuSeconds };
    },
  };
}

/** Runs a load in a process of its own to its end. */
export async function runLoad<Name extends LoadName>(name: Name, params: ParamsOf<Name>) {
  const load = await startLoad(name, params);
  return load.go();
}

/** Starts a script of this folder as a process with a message channel. It ends with this process at the latest. */
export function forkScript(script: string, argv: string[] = []): ChildProcess {
  const child = fork(fileURLToPath(new URL(script, import.meta.url)), argv, {
    execArgv: ['--import', 'tsx'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/** Sends a message and waits for the one that answers it. A load that fails ends its process. */
function answer(child: ChildProcess, name: LoadName, message: object | string): Promise<FromLoad> {
  return new Promise((resolve, reject) => {
    const onExit = () => reject(new Error(`the process of the load '${name}' ended`));
    child.once('exit', onExit);
    child.once('message', (answered: FromLoad) => {
      child.off('exit', onExit);
      if (!('fault' in answered)) return resolve(answered);
      child.kill('SIGKILL');
      reject(new Error(`the load '${name}' failed: ${answered.fault}`));
    });
    child.send(message);
  });
}

/** Whether this process stays alive for a load process. */
function hold(child: ChildProcess, held: boolean): void {
  child[held ? 'ref' : 'unref']();
  child.channel?.[held ? 'ref' : 'unref']();
}
