const BEARER = /^bearer +(\S+)$/i;

/** The token of an `Authorization: Bearer` header; undefined when there is none. */
export function bearerToken(authorization: string | undefined): string | undefined {
  return authorization === undefined ? undefined : BEARER.exec(authorization.trim())?.[1];
}

/**
 * The token of a WebSocket's query, where browsers put it. A `+` stands for itself: no token holds a space,
 * and pages forget to escape it.
 */
export function queryToken(query: string): string | undefined {
  return new URLSearchParams(query.replaceAll('+', '%2B')).get('token') || undefined;
}
