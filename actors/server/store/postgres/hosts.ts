/* Several hosts in one address, as libpq reads them: `postgres://jq@a:5432,b:5433/jq?target_session_attrs=read-write`. */

/** What may be asked of a session, by which a store is written: both mean the host that is no standby. */
const WRITING = ['read-write', 'primary'];
const ATTRIBUTES = 'target_session_attrs';

/**
 * The addresses of one host each that an address names, in its order.
 * @throws TypeError for what is no address
 */
export function addressesIn(text: string): URL[] {
  const [, before = '', hosts = '', after = ''] = /^([^/]*\/\/(?:[^/?#]*@)?)([^/?#]*)(.*)$/s.exec(text) ?? [];
  return hosts.split(',').map((host) => {
    const address = new URL(`${before}${host}${after}`);
    const wanted = address.searchParams.get(ATTRIBUTES);
    if (wanted !== null && !WRITING.includes(wanted))
      throw new TypeError(`${ATTRIBUTES} is ${wanted}; a store is written, so it can only be ${WRITING[0]}`);
    address.searchParams.delete(ATTRIBUTES);
    return address;
  });
}
