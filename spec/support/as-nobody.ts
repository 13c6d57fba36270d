import { NOBODY } from './nobody.ts';
import { lacking, type Needing } from './requires.ts';

/** Root may write everywhere, so for a while the process acts as nobody. */
export async function asSomebodyWithoutPower(action: () => Promise<void>): Promise<void> {
  const root = process.geteuid?.() === 0;
  if (root) process.seteuid?.(NOBODY);
  try {
    await action();
  } finally {
    if (root) process.seteuid?.(0);
  }
}

/** Only root does something in the folders of others. */
export const requiresRoot = (): Needing =>
  lacking('root', process.geteuid?.() === 0 ? null : 'this process runs as another user');
