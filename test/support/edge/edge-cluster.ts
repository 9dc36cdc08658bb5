import { createHash } from 'node:crypto';
import { firstHeader } from '../../../src/apimachinery/raw-headers.ts';
import type { Snapshot } from '../../../src/snapshot/format/schema.ts';
import { type AnswerUpgrade, ApiServerDouble } from '../api-servers/api-server-double.ts';
import { type Speaker, speaker } from '../assertions.ts';
import { type Authority, type CertificatePair, createAuthority } from '../certificates.ts';
import { jobsDiscovery } from '../clusters/decision-rows.ts';
import { type SnapshotOptions, snapshotOf } from '../snapshots/snapshot-builder.ts';

/** RFC 6455 section 4.2.2; what comes masked goes back unmasked, payloads below 126 bytes. */
const echoWebSocket: AnswerUpgrade = (socket, { headers }) => {
  const key = firstHeader(headers, 'sec-websocket-key') ?? '';
  const accept = createHash('sha1').update(`${key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`).digest('base64');
  const protocol = firstHeader(headers, 'sec-websocket-protocol')?.split(',')[0]?.trim();
  socket.write(
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n' +
      `Sec-WebSocket-Accept: ${accept}\r\n` +
      `${protocol === undefined ? '' : `Sec-WebSocket-Protocol: ${protocol}\r\n`}\r\n`,
  );
  socket.on('data', (frame: Buffer) => {
    const length = (frame[1] ?? 0) & 0x7f;
    const mask = frame.subarray(2, 6);
    const payload = frame.subarray(6, 6 + length).map((byte, index) => byte ^ (mask[index % 4] ?? 0));
    socket.write(Buffer.concat([Buffer.from([frame[0] ?? 0, length]), payload]));
  });
};

/** A cluster for a router on an edge runtime: two API servers, and who may sign what. */
export interface EdgeCluster {
  /** Signs serving certificates and those of clients. */
  readonly authority: Authority;
  /** Signs front proxies; what the API servers accept. */
  readonly frontProxyAuthority: Authority;
  /** Certificate of both API servers, and for the router: good for localhost and 127.0.0.1. */
  readonly serving: CertificatePair;
  /** CN=front-proxy-client. */
  readonly frontProxyClient: CertificatePair;
  /** Serves pods. */
  readonly local: ApiServerDouble;
  /** Serves pods, and `batch/v1` `jobs`, which `local` does not. */
  readonly peer: ApiServerDouble;
  /** Signs snapshots. */
  readonly syncKey: Speaker;
  /** A snapshot in which both servers are. */
  snapshot(generation: number, changes?: SnapshotOptions): Snapshot;
  /** Ends both API servers. */
  close(): Promise<void>;
}

export async function createEdgeCluster(): Promise<EdgeCluster> {
  const authority = await createAuthority('cluster-ca');
  const frontProxyAuthority = await createAuthority('front-proxy-ca');
  const serving = await authority.issue({
    commonName: 'server',
    dnsNames: ['localhost'],
    ipAddresses: ['127.0.0.1'],
    usage: 'server',
  });
  const tls = { pair: serving, clientAuthorities: frontProxyAuthority.certificate };
  const local = new ApiServerDouble('local', tls);
  const peer = new ApiServerDouble('peer', tls);
  for (const server of [local, peer]) {
    await server.start();
    server.answerUpgrade = echoWebSocket;
    server.lets = ['sync', 'system:monitoring'];
  }
  return {
    authority,
    frontProxyAuthority,
    serving,
    frontProxyClient: await frontProxyAuthority.issue({ commonName: 'front-proxy-client', usage: 'client' }),
    local,
    peer,
    syncKey: await speaker('sync'),
    snapshot: (generation, changes = {}) =>
      snapshotOf(
        {
          local: { serves: ['v1/pods'], url: local.origin, discovery: [] },
          peer: {
            serves: ['v1/pods', 'batch/v1/jobs'],
            url: peer.origin,
            discovery: [
              { metadata: { name: 'batch' }, versions: [{ version: 'v1', resources: [jobsDiscovery] }] },
            ],
          },
        },
        { generation, ...changes },
      ),
    async close() {
      await local.stop();
      await peer.stop();
    },
  };
}
