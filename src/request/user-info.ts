/** A caller, as Kubernetes keeps it (k8s.io/apiserver pkg/authentication/user). Text, not byte strings. */
export interface UserInfo {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  /** Keys in lower case, values in order. */
  readonly extra: ReadonlyMap<string, readonly string[]>;
}

export type Caller =
  /** Authenticated here. `viaVerifiedPeer`: the connection belongs to a trusted front proxy. */
  | {
      readonly kind: 'authenticated';
      readonly user: UserInfo;
      readonly authenticator: string;
      readonly viaVerifiedPeer: boolean;
    }
  /**
   * Not authenticated here: no credentials, or ones that only the API server can check. They pass through
   * untouched, on a connection without the front-proxy certificate and without any X-Remote header.
   */
  | { readonly kind: 'passthrough' };
