import type { ChildProcess } from 'node:child_process';

/** How a program ended, and what it had said by then. */
export interface Outcome {
  code: number;
  stdout: string;
  stderr: string;
}

/** What a child says, while it runs and in the end. */
export function heard<Child extends ChildProcess>(child: Child) {
  const said = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.on('data', (chunk) => {
      said[name] += chunk;
    });
  }
  const outcome = new Promise<Outcome & { signal: string | null }>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code: code ?? -1, signal, ...said }));
  });
  return { child, said, outcome };
}
