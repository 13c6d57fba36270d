/* Several hosts in one address, as libpq reads them: `postgres://jq@a:5432,b:5433/jq?target_session_attrs=read-write`. */

/** What may be asked of a session, by which a store is written: both mean the host that is no standby. */
const WRITING = ['read-write', 'primary'];
const ATTRIBUTES = 'target_session_attrs';
/** What else may stand behind a question mark (pg-connection-string): any other word would be passed over without a sound. */
const KNOWN = new Set([
  ...['host', 'hostaddr', 'port', 'dbname', 'user', 'password', 'encoding', 'client_encoding', 'options'],
  ...['application_name', 'fallback_application_name', 'connect_timeout', 'statement_timeout', 'keepalives'],
  ...['ssl', 'sslmode', 'sslcert', 'sslkey', 'sslrootcert', 'sslnegotiation', 'uselibpqcompat', ATTRIBUTES],
]);

/**
 * The addresses of one host each that an address names, in its order.
 * @throws TypeError for what is no address
 */
export function addressesIn(text: string): URL[] {
  const [, before = '', hosts = '', after = ''] = /^([^/]*\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(text) ?? [];
  return hosts.split(',').map((host) => {
    const address = new URL(`${before}${host}${after}`);
    const unknown = [...address.searchParams.keys()].find((word) => !KNOWN.has(word));
    if (unknown !== undefined) throw new TypeError(`nothing is called ${unknown} there`);
    const wanted = address.searchParams.get(ATTRIBUTES);
    if (wanted !== null && !WRITING.includes(wanted))
      throw new TypeError(`${ATTRIBUTES} is ${wanted}; a store is written, so it can only be ${WRITING[0]}`);
    address.searchParams.delete(ATTRIBUTES);
    return address;
  });
}
