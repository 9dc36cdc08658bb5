import assert from 'node:assert/strict';
import { createHash, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import type { TestContext } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import {
  type ClientAuthorities,
  type ClientCertificateInfo,
  ClientCertificateReader,
  clientCertificateTlsOptions,
  readClientAuthorities,
} from '../../src/node/callers/client-certificate.ts';

import type { RequestCarrier } from '../../src/node/exchange/node-inbound.ts';
import { createRouterServer } from '../../src/node/serving/server.ts';
import type { CertificatePair } from './certificates.ts';
import {
  clusterAuthority as cluster,
  frontProxyAuthority as frontProxy,
  servingPair as serving,
} from './security/certificates.ts';

export { cluster, frontProxy, serving };

export const authorities = readClientAuthorities({
  clientCa: cluster.certificate,
  requestHeaderCa: frontProxy.certificate,
});

export type Read = (carrier: RequestCarrier) => ClientCertificateInfo;

interface ServerUnderTest {
  readonly port: number;
  /** What was read from each request, in order. */
  readonly seen: readonly ClientCertificateInfo[];
}

/** A TLS server that reads every request's client certificate, on HTTP/1.1 or HTTP/2. */
export async function listen(
  context: TestContext,
  read: Read,
  trusted: ClientAuthorities = authorities,
  tlsOptions: object = {},
): Promise<ServerUnderTest> {
  const seen: ClientCertificateInfo[] = [];
  const tls = {
    key: serving.privateKey,
    cert: serving.chain,
    ...clientCertificateTlsOptions(trusted),
    ...tlsOptions,
  };
  const server = createRouterServer({
    tls,
    clientCertificateOf: read,
    fetch(_request, { inbound }) {
      const { clientCertificate, clientCertificateError } = inbound.connection;
      seen.push({
        ...(clientCertificate === undefined ? {} : { clientCertificate }),
        ...(clientCertificateError === undefined ? {} : { clientCertificateError }),
      });
      return new Response();
    },
  });
  const { port } = await server.listen(0, '127.0.0.1');
  context.after(() => server.close(0));
  return { port, seen };
}

export function clientOptions(port: number, pair: CertificatePair | undefined): object {
  return {
    port,
    host: '127.0.0.1',
    servername: 'localhost',
    ca: cluster.certificate,
    ...(pair === undefined ? {} : { cert: pair.chain, key: pair.privateKey }),
  };
}

/** Sends GETs one after the other on one HTTP/1.1 connection and leaves it open until they are answered. */
export async function getOverHttp1(
  port: number,
  pair: CertificatePair | undefined,
  requests = 1,
): Promise<void> {
  const socket = connect({ ...clientOptions(port, pair), ALPNProtocols: ['http/1.1'] });
  await exchange(socket, requests);
  socket.destroy();
}

export async function exchange(socket: TLSSocket, requests: number): Promise<void> {
  for (let sent = 0; sent < requests; sent++) {
    socket.write('GET /api HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(socket, 'data');
  }
}

export async function getOverHttp2(port: number, pair: CertificatePair, requests = 1): Promise<void> {
  const session = connectHttp2(`https://localhost:${port}`, clientOptions(port, pair));
  for (let sent = 0; sent < requests; sent++) {
    const stream = session.request({ ':path': '/api' });
    stream.resume();
    await once(stream, 'close');
  }
  session.close();
  await once(session, 'close');
}

/** What a reader makes of one client, over HTTP/1.1. */
export async function readOne(
  context: TestContext,
  pair: CertificatePair | undefined,
  trusted: ClientAuthorities = authorities,
): Promise<ClientCertificateInfo> {
  const reader = new ClientCertificateReader(trusted);
  const server = await listen(context, (request) => reader.read(request), trusted);
  await getOverHttp1(server.port, pair);
  assert.equal(server.seen.length, 1);
  return server.seen[0] ?? {};
}

/** Of a certificate's DER form, in hexadecimal. */
export const sha256Of = ({ certificate }: CertificatePair): string =>
  createHash('sha256').update(new X509Certificate(certificate).raw).digest('hex');
