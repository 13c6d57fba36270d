import { pino } from 'pino';

export const silent = pino({ level: 'silent' });

/** Retries that cost a test no time. */
export const quick = { baseMs: 5, maxMs: 50, slowMs: 100 };
