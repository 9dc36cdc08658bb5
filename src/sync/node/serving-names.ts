import type { NodeTransport } from '../../node/destinations/node-transport.ts';

/**
 * The DNS names in the serving certificate of the API server at `address`, checked as on every connection: by the
 * cluster's authorities, under the name kubernetes.default.svc. Sends no request.
 *
 * @throws {TransportError} when nobody proves to be one
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
 * Node prints the names in one text, `DNS:a, IP Address:…`, and names that could be mistaken for several in
 * quotes (CVE-2021-44532): those are nobody's host name.
 */
function dnsNames(subjectAltName: string | undefined): readonly string[] {
  return (subjectAltName ?? '').split(', ').flatMap((name) => /^DNS:([A-Za-z0-9.-]+)$/.exec(name)?.[1] ?? []);
}
