/** How a destination proves who it is. */
export type DestinationTrust =
  /** Checked against the peer CA bundle. */
  | { readonly kind: 'peer-ca' }
  /** Checked against a bundle of its own (PEM). */
  | { readonly kind: 'ca-bundle'; readonly pem: string };

export function isSameTrust(one: DestinationTrust, other: DestinationTrust): boolean {
  if (one.kind !== 'ca-bundle' || other.kind !== 'ca-bundle') return one.kind === other.kind;
  return one.pem === other.pem;
}

/** A server that a request can be sent to. */
export interface Destination {
  readonly kind: 'local' | 'peer';
  /** API server ID. */
  readonly id: string;
  /** `https://host:port`, without a path. */
  readonly origin: string;
  /** The name the serving certificate must carry (`kubernetes.default.svc` for peers), at any address. */
  readonly serverName: string;
  readonly trust: DestinationTrust;
}
