/** Milliseconds in which a whole head must come, and after which a connection without a request is closed. */
export const HEAD_TIMEOUT = 10_000;
/** Milliseconds without a single byte after which a client that sends a body, or is sent one, is dropped. */
export const STALL_TIMEOUT = 10_000;
/**
 * Bytes of a body that must come in each `STALL_TIMEOUT`: any line that works at all brings them, and who sends a byte
 * now and then only holds on to the connection.
 */
export const LEAST_BYTES = 1024;
/** Bytes of a whole head. */
export const MAX_HEAD = 128 * 1024;
export const MAX_HEADERS = 100;
