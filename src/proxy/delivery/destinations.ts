import type { Destination } from '../../request/destination.ts';
import type { SnapshotApiService } from '../../snapshot/format/types.ts';
import type { RoutingServer, RoutingTable } from '../../snapshot/routing-table/routing-table.ts';

/** A peer as a destination; `undefined` when it has no address. */
export function peerDestination(server: RoutingServer): Destination | undefined {
  if (server.origin === undefined) return undefined;
  return {
    kind: 'peer',
    id: server.id,
    origin: server.origin,
    serverName: server.serverName,
    trust: { kind: 'peer-ca' },
  };
}

/**
 * The extension API server of an APIService; `undefined` when the snapshot has no address for it. Named and
 * trusted as kube-aggregator does (kube-aggregator pkg/apiserver/handler_proxy.go).
 */
export function extensionDestination(apiService: SnapshotApiService): Destination | undefined {
  const { service } = apiService;
  if (service?.address === undefined) return undefined;
  return {
    kind: 'extension',
    id: `${service.name}.${service.namespace}`,
    origin: `https://${service.address}`,
    serverName: `${service.name}.${service.namespace}.svc`,
    trust:
      apiService.insecureSkipTLSVerify === true
        ? { kind: 'insecure-skip-tls-verify' }
        : { kind: 'ca-bundle', pem: apiService.caBundle },
  };
}

/** Everywhere this router may still send to. */
export function destinationsOf(local: Destination | undefined, table: RoutingTable): readonly Destination[] {
  return [...(local === undefined ? [] : [local]), ...remoteDestinations(table)];
}

export function remoteDestinations(table: RoutingTable): readonly Destination[] {
  return [
    ...table.servers.flatMap((server) => peerDestination(server) ?? []),
    ...table.snapshot.apiServices.flatMap((apiService) => extensionDestination(apiService) ?? []),
  ];
}
