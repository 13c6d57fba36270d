import { word } from './flags.ts';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const;

export const logLevel = (text: string) => word('--log-level', text, LOG_LEVELS);
