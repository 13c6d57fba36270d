/** A reason why a program cannot start, in words that say what to do. Programs print it and exit with 2. */
export class StartError extends Error {
  readonly code:
    | 'state_in_use'
    | 'state_unwritable'
    | 'store_too_new'
    | 'store_unreadable'
    | 'log_unwritable'
    | 'runner_unusable'
    | 'input_unusable';

  constructor(code: StartError['code'], message: string) {
    super(message);
    this.name = 'StartError';
    this.code = code;
  }
}
