import assert from 'node:assert/strict';
import { createHash, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { TestContext } from 'node:test';
import type { TLSSocket } from 'node:tls';
import {
  type ClientAuthorities,
  type ClientCertificateInfo,
  ClientCertificateReader,
  clientCertificateTlsOptions,
  readClientAuthorities,
} from '../../../src/node/callers/client-certificate.ts';
import type { RequestCarrier } from '../../../src/node/exchange/node-inbound.ts';
import type { CertificatePair } from '../certificates.ts';
import { askOverHttp2, openHttp2, openSocket, tlsClientOptions } from '../clients/tls-client.ts';
import { servingTls, startServer } from '../routers/node-server.ts';
import { clusterAuthority as cluster, frontProxyAuthority as frontProxy } from '../security/certificates.ts';

export { cluster, frontProxy };

export const authorities = readClientAuthorities({
  clientCa: cluster.certificate,
  requestHeaderCa: frontProxy.certificate,
});

export type Read = (carrier: RequestCarrier) => ClientCertificateInfo;

interface ServerUnderTest {
  readonly port: number;
  /** Facts that were read from each request, in order. */
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
  const { port } = await startServer(
    context,
    (_request, { inbound }) => {
      const { clientCertificate, clientCertificateError } = inbound.connection;
      seen.push({
        ...(clientCertificate === undefined ? {} : { clientCertificate }),
        ...(clientCertificateError === undefined ? {} : { clientCertificateError }),
      });
      return new Response();
    },
    {
      tls: { ...servingTls, ...clientCertificateTlsOptions(trusted), ...tlsOptions },
      clientCertificateOf: read,
    },
  );
  return { port, seen };
}

export function clientOptions(port: number, pair: CertificatePair | undefined) {
  return tlsClientOptions({ port, ca: cluster.certificate, pair });
}

/** Sends GETs one after the other on one HTTP/1.1 connection and leaves it open until they are answered. */
export async function getOverHttp1(
  context: TestContext,
  port: number,
  pair: CertificatePair | undefined,
  requests = 1,
): Promise<void> {
  const socket = await openSocket(context, { port, ca: cluster.certificate, pair });
  await exchange(socket, requests);
  socket.destroy();
}

export async function exchange(socket: TLSSocket, requests: number): Promise<void> {
  for (let sent = 0; sent < requests; sent++) {
    socket.write('GET /api HTTP/1.1\r\nHost: localhost\r\n\r\n');
    await once(socket, 'data');
  }
}

export async function getOverHttp2(
  context: TestContext,
  port: number,
  pair: CertificatePair,
  requests = 1,
): Promise<void> {
  const session = openHttp2(context, { port, ca: cluster.certificate, pair });
  for (let sent = 0; sent < requests; sent++) await askOverHttp2(session, '/api');
  session.close();
  await once(session, 'close');
}

/** Reading of one client, over HTTP/1.1. */
export async function readOne(
  context: TestContext,
  pair: CertificatePair | undefined,
  trusted: ClientAuthorities = authorities,
): Promise<ClientCertificateInfo> {
  const reader = new ClientCertificateReader(trusted);
  const server = await listen(context, (request) => reader.read(request), trusted);
  await getOverHttp1(context, server.port, pair);
  assert.equal(server.seen.length, 1);
  return server.seen[0] ?? {};
}

/** Digest of a certificate's DER form, in hexadecimal. */
export const sha256Of = ({ certificate }: CertificatePair): string =>
  createHash('sha256').update(new X509Certificate(certificate).raw).digest('hex');
