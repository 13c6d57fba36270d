import { AppError } from '../../../machines/protocol/app-error.ts';

/** A fault of the store as a whole, not of what was asked of it: trying again may help. */
export class StoreFault extends AppError {
  readonly code = 'STORE_FAULT';
}

/** Whether a turn was written will not be found out any more. */
export class OutcomeUnknown extends StoreFault {
  constructor() {
    super('the server ended before it was known whether the last turn was written');
  }
}
