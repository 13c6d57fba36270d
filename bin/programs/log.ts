import { closeSync, openSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { destination, type Logger, pino } from 'pino';
import { PinoPretty as pretty } from 'pino-pretty';
import { makeDirectory } from '../../actors/shared/make-directory.ts';
import { StartError } from '../../machines/protocol/start-error.ts';

/** Where a program's log goes and how much of it. */
export interface LogConfig {
  logLevel: string;
  /** Appended to; absent: stderr. */
  logFile?: string | undefined;
}

/** A program's log. */
export interface OpenLog {
  readonly log: Logger;
  /** Opens the file of that name again, for who has moved the one before away; of stderr it does nothing. */
  reopen(): void;
  close(): void;
}

/** Characters of lines that wait because the log cannot be written. */
const LONGEST_BACKLOG = 1024 * 1024;

/**
 * Opens a program's log: one JSON line an entry, or on a terminal one readable line. Tokens never reach it. A file is
 * only ever appended to, so that it may be cut short or moved while it is written. Should the process end by a fault
 * that nobody caught, that is its last entry.
 * @throws StartError `log_unwritable`
 */
export async function openLog(name: string, { logLevel, logFile }: LogConfig): Promise<OpenLog> {
  const file = logFile === undefined ? undefined : resolve(logFile);
  if (file !== undefined) await tryFile(file);
  const stream =
    file === undefined && process.stderr.isTTY
      ? readable()
      : destination({ dest: file ?? 2, append: true, sync: true, maxLength: LONGEST_BACKLOG });
  // A full disk below the log ends no program: lines wait for room, as many as may, and the rest is lost.
  stream.on('error', () => {});
  const log = pino(
    {
      ...{ name, level: logLevel, base: { name, pid: process.pid } },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
    },
    stream,
  );
  const dying = (error: Error, origin: string) =>
    log.fatal({ err: error, origin }, `internal fault: ends now (${String(error?.message ?? error)})`);
  // Looks on only: what happens then, a trace on stderr and the end, stays as it is.
  process.on('uncaughtExceptionMonitor', dying);
  return {
    log,
    reopen() {
      if (file === undefined || !('reopen' in stream)) return;
      try {
        // The stream's own try would leave it with the file that it has, and with a mistaken idea of it.
        closeSync(openSync(file, 'a'));
        stream.reopen();
        log.info({ file }, 'the log file was opened again');
      } catch (error) {
        log.error({ err: error, file }, 'the log file cannot be opened again; the one before goes on');
      }
    },
    close() {
      process.off('uncaughtExceptionMonitor', dying);
      // What is logged after this is dropped rather than written to a closed file.
      log.level = 'silent';
      if (file !== undefined && 'destroy' in stream) stream.destroy();
    },
  };
}

const readable = () =>
  pretty({
    destination: 2,
    sync: true,
    ignore: 'pid,name',
    translateTime: 'SYS:HH:MM:ss',
    singleLine: true,
  });

async function tryFile(path: string): Promise<void> {
  try {
    await makeDirectory(dirname(path));
    closeSync(openSync(path, 'a'));
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new StartError(
      'log_unwritable',
      `cannot write the log file ${path} (${why}); choose another with --log-file`,
    );
  }
}
