import type { ServeConfig } from '../../node/configuration/serve-config.ts';
import type { Destination } from '../../request/destination.ts';
import { type AddressPolicy, createAddressPolicy } from '../../snapshot/addresses/address-policy.ts';
import type { RoutingTable } from '../../snapshot/routing-table/routing-table.ts';

/** A server that the router may send to, and how it is to be checked. */
export interface ExaminedServer extends Destination {
  readonly kind: 'local' | 'peer';
  /** PEM. */
  readonly certificateAuthorities: string;
  /** For peers, whose addresses are the snapshot's. */
  readonly addressPolicy?: AddressPolicy;
}

/** The local server, and the peers that the snapshot has an address of. Pure. */
export function examinedServers(
  config: ServeConfig,
  table: RoutingTable | undefined,
): readonly ExaminedServer[] {
  const { local, peerCa, serverId } = config;
  const trust = { kind: 'peer-ca' } as const;
  const addressPolicy = createAddressPolicy(config.peerAddresses);
  const own: ExaminedServer[] =
    local === undefined
      ? []
      : [
          {
            kind: 'local',
            id: serverId ?? 'local',
            origin: local.origin,
            serverName: local.serverName,
            trust,
            certificateAuthorities: local.ca.pem,
          },
        ];
  if (peerCa === undefined) return own;
  const peers = (table?.servers ?? []).flatMap(({ id, origin, serverName }): ExaminedServer[] =>
    origin === undefined || id === serverId
      ? []
      : [{ kind: 'peer', id, origin, serverName, trust, certificateAuthorities: peerCa.pem, addressPolicy }],
  );
  return [...own, ...peers];
}
