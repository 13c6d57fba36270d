export type GatewayErrorCode =
  | 'bad_principal'
  | 'bad_auth_file'
  | 'bad_token'
  | 'duplicate_token'
  | 'bad_option'
  | 'port_in_use'
  | 'port_forbidden'
  | 'address_unavailable'
  | 'listen_failed'
  | 'no_transport';

/** A reason why the gateway cannot start, in words that say what to do. Programs print it and exit with 2. */
export class GatewayError extends Error {
  readonly code: GatewayErrorCode;

  constructor(code: GatewayErrorCode, message: string) {
    super(message);
    this.name = 'GatewayError';
    this.code = code;
  }
}
