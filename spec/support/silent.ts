import { pino } from 'pino';

/** The log of servers of which there are very many. */
export const SILENT = pino({ level: 'silent' });
