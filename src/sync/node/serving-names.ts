import type { NodeTransport } from '../../node/destinations/node-transport.ts';

/**
 * The DNS names in the serving certificate of the API server at `address`, verified as on every connection: with the
 * cluster's authorities, for the name kubernetes.default.svc. Sends no request.
 *
 * @throws {TransportError} if no API server can be verified there
 */
export async function servingNames(
  transport: NodeTransport,
  address: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const socket = await transport.dialer.dial({
    destination: {
      kind: 'peer',
      id: address,
      origin: `https://${address}`,
      serverName: 'kubernetes.default.svc',
      trust: { kind: 'peer-ca' },
    },
    presentFrontProxyCertificate: false,
    protocols: ['h2', 'http/1.1'],
    signal,
  });
  try {
    return dnsNames(socket.getPeerCertificate().subjectaltname);
  } finally {
    socket.destroy();
  }
}

/**
 * Node prints the names in one text, `DNS:a, IP Address:…`, and puts ambiguous ones in quotes (CVE-2021-44532): those are
 * not host names.
 */
function dnsNames(subjectAltName: string | undefined): readonly string[] {
  return (subjectAltName ?? '').split(', ').flatMap((name) => /^DNS:([A-Za-z0-9.-]+)$/.exec(name)?.[1] ?? []);
}
