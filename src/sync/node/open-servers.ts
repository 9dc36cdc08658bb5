import { NodeTransport } from '../../node/destinations/node-transport.ts';
import type { SyncServer } from '../cluster/sync-server.ts';
import { liveDocuments } from './live-documents.ts';
import { type ReadingOptions, readingOriginOf } from './run-sync-options.ts';

/** API servers with open connections. */
export interface OpenServers {
  readonly servers: readonly SyncServer[];
  close(): void;
}

export function openServers(options: ReadingOptions): OpenServers {
  const { certificateAuthorities, clientCertificate, bearerToken } = options;
  const transport = new NodeTransport({
    credentials: { peerCertificateAuthorities: certificateAuthorities, frontProxy: clientCertificate },
  });
  return {
    servers: options.servers.map((server) => {
      const { readFrom: _readFrom, ...description } = server;
      const { id, serverName } = server;
      const origin = readingOriginOf(server);
      return {
        ...description,
        addressSource: 'listed',
        documents: liveDocuments({ transport, id, origin, serverName, bearerToken }),
      };
    }),
    close: () => transport.close(),
  };
}
