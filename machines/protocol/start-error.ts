import { AppError } from './app-error.ts';

export type StartErrorCode =
  | 'bad_principal'
  | 'bad_auth_file'
  | 'bad_token'
  | 'bad_token_file'
  | 'duplicate_token'
  | 'bad_tls'
  | 'bad_option'
  | 'port_in_use'
  | 'port_forbidden'
  | 'address_unavailable'
  | 'listen_failed'
  | 'no_transport'
  | 'state_in_use'
  | 'state_unwritable'
  | 'store_away'
  | 'store_too_new'
  | 'store_too_old'
  | 'store_unreadable'
  | 'objects_refused'
  | 'objects_unusable'
  | 'log_unwritable'
  | 'runner_unusable'
  | 'input_unusable'
  | 'backup_in_use'
  | 'backup_unwritable'
  | 'restore_refused';

/** A reason why a program cannot start, in words that say what to do. Programs print it and exit with 2, or 75 for `store_away`. */
export class StartError extends AppError {
  readonly code: StartErrorCode;

  constructor(code: StartErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
