import { type DestinationStream, destination, type Logger, pino } from 'pino';

/** Where a program's log goes and how much of it. */
export interface LogConfig {
  logLevel: string;
  /** Appended to; absent: stderr. */
  logFile?: string | undefined;
}

/** Opens a program's log, one JSON line an entry. Tokens never reach it. */
export function openLog(name: string, { logLevel, logFile }: LogConfig): { log: Logger; close(): void } {
  const stream = destination({ dest: logFile ?? 2, mkdir: true, sync: true }) as DestinationStream & {
    end(): void;
  };
  const log = pino({ name, level: logLevel, base: { name, pid: process.pid } }, stream);
  return { log, close: () => (logFile === undefined ? undefined : stream.end()) };
}
