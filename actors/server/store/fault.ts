import { AppError } from '../../../machines/protocol/app-error.ts';

/** A fault of the store as a whole, not of what was asked of it: trying again may help. */
export class StoreFault extends AppError {
  readonly code = 'STORE_FAULT';
}
