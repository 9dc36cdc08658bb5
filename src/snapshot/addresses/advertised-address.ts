import { parseHostPort } from './host-port.ts';
import { isDns1123Subdomain } from './names.ts';

/** Which setting of a router an address came from. */
export const advertisedBy = [
  'peer-advertise-ip',
  'advertise-address',
  'bind-address',
  'default-interface',
] as const;
export type AdvertisedBy = (typeof advertisedBy)[number];

/** Where a router says that peers should call it, in place of the API server that it stands in front of. */
export interface AdvertisedAddress {
  /** `host:port` with an IP address; IPv6 in brackets. */
  readonly address: string;
  readonly by: AdvertisedBy;
}

/** What a router tells about itself to callers that may push snapshots to it. */
export interface AdvertisedServer extends AdvertisedAddress {
  /** ID of the API server that the router stands in front of. */
  readonly serverId: string;
}

/**
 * Carries `AdvertisedServer` on every response below `v1/snapshot`: pushes, renewals, and the question whether the
 * router still holds what it took. So a sync job that has just started hears it before it makes a
 * snapshot.
 */
export const advertisedAddressHeader = 'mixed-version-proxy-advertised-address';

/** Whether an operator has named the address for others; what a router falls back to is only its guess. */
export function isGivenByOperator({ by }: Pick<AdvertisedAddress, 'by'>): boolean {
  return by === 'peer-advertise-ip' || by === 'advertise-address';
}

/** `10.0.0.1:7443; server=cp-a; by=peer-advertise-ip`. */
export function formatAdvertisedServer({ address, serverId, by }: AdvertisedServer): string {
  return `${address}; server=${serverId}; by=${by}`;
}

/** `undefined` for anything else: a name in place of an IP address, an unknown setting, an ID that none can be. */
export function parseAdvertisedServer(text: string): AdvertisedServer | undefined {
  const [, address = '', serverId = '', setting = ''] =
    /^(\S{1,64}); server=(\S{1,253}); by=([a-z-]{1,32})$/.exec(text) ?? [];
  const parsed = parseHostPort(address);
  const by = advertisedBy.find((known) => known === setting);
  if (!parsed.ok || parsed.value.ip === undefined || by === undefined || !isDns1123Subdomain(serverId)) {
    return undefined;
  }
  return { address, serverId, by };
}
