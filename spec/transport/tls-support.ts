import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { connect } from 'node:tls';
import type { TransportChoice } from '../../gateway/transport/choose.ts';
import { Authority, install } from '../support/certificates.ts';
import { clientOf } from '../support/client.ts';
import { startTestServer, temporaryDirectory } from '../support/server.ts';

/** The common name of what a server shows a new connection. */
export async function shownBy(port: number, ca: Buffer): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1', ca });
  try {
    return await new Promise((resolve, reject) => {
      socket.on('error', reject);
      socket.on('secureConnect', () => resolve(String(socket.getPeerCertificate().subject.CN)));
    });
  } finally {
    socket.destroy();
  }
}

/** A server with a certificate of an authority of one's own, and a client that trusts it. */
export async function secure(t: TestContext, transport: TransportChoice) {
  const authority = await Authority.make(t);
  const folder = await temporaryDirectory(t);
  const tls = { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') };
  await install(await authority.certify('first'), tls);
  const server = await startTestServer(t, { transport, tls });
  const ca = await readFile(authority.ca);
  const client = clientOf(t, server.url, { ca: ca.toString() });
  return { authority, tls, server, ca, client, shown: () => shownBy(server.port, ca) };
}
