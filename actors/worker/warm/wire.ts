/** An attempt as a host is asked for it (docs/runners.md#warm). */
export interface Order {
  /** What follows the runner's command. */
  args: readonly string[];
  cwd: string;
  /** What of its environment is another than the host was started with. */
  env: Readonly<Record<string, string>>;
  /** Named pipes that the host makes, in the attempt's own directory. */
  stdout: string;
  stderr: string;
  /** The control group that it enters. */
  cell: string | null;
  /** Where it writes, at its end, which modules it had to import itself. */
  learn: string;
}

/** What a host says. */
export type Said =
  | { kind: 'loaded'; modules: number; spoiled: { package: string; reason: string } | null }
  | { kind: 'forked'; order: string; pid: number; retire: string | null }
  | { kind: 'cold'; order: string; reason: string }
  | { kind: 'again'; order: string; retire: string }
  | { kind: 'ended'; order: string; code: number | null; signal: NodeJS.Signals | null };

/** Null for a line that is none of the protocol. */
export function readSaid(line: string): Said | null {
  let said: Record<string, unknown>;
  try {
    said = Object(JSON.parse(line));
  } catch {
    return null;
  }
  const { loaded, forked, pid, cold, reason, again, retire, ended, code, signal } = said;
  if (typeof loaded === 'number') {
    const { package: name, reason: why } = Object(said.spoiled);
    const spoiled = typeof name === 'string' ? { package: name, reason: String(why) } : null;
    return { kind: 'loaded', modules: loaded, spoiled };
  }
  if (typeof forked === 'string' && Number.isInteger(pid) && Number(pid) > 1) {
    return {
      kind: 'forked',
      order: forked,
      pid: Number(pid),
      retire: typeof retire === 'string' ? retire : null,
    };
  }
  if (typeof cold === 'string') return { kind: 'cold', order: cold, reason: String(reason) };
  if (typeof again === 'string') return { kind: 'again', order: again, retire: String(retire) };
  if (typeof ended !== 'string') return null;
  return {
    kind: 'ended',
    order: ended,
    code: typeof code === 'number' ? code : null,
    signal: typeof signal === 'string' ? (signal as NodeJS.Signals) : null,
  };
}
