/** An address that clients can use: the unspecified ones mean every interface, so loopback among them. */
export const reachable = (host: string): string =>
  host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
