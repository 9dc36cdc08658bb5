/** How a destination proves who it is. */
export type DestinationTrust =
  /** Checked against the peer CA bundle. */
  | { readonly kind: 'peer-ca' }
  /**
   * An extension API server: checked against the APIService's own bundle (PEM), against the runtime's roots
   * where it has none, or not at all where the APIService says so.
   */
  | { readonly kind: 'ca-bundle'; readonly pem: string | undefined }
  | { readonly kind: 'insecure-skip-tls-verify' };

export function isSameTrust(one: DestinationTrust, other: DestinationTrust): boolean {
  if (one.kind !== 'ca-bundle' || other.kind !== 'ca-bundle') return one.kind === other.kind;
  return (one.pem ?? '') === (other.pem ?? '');
}

/** A server that a request can be sent to. */
export interface Destination {
  readonly kind: 'local' | 'peer' | 'extension';
  /** API server ID, or `<service>.<namespace>` of an extension server. */
  readonly id: string;
  /** `https://host:port`, without a path. */
  readonly origin: string;
  /** The name the serving certificate must carry (`kubernetes.default.svc` for peers), at any address. */
  readonly serverName: string;
  readonly trust: DestinationTrust;
}
