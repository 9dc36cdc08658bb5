import type { RoutingServer, ServersOfVersion } from '../snapshot/routing-table/routing-table.ts';

/**
 * The version of which a cluster is to look while its servers have several: the one that most servers have, the newest,
 * the oldest, a minor version such as `1.36`, or the version of the server that is asked (`local`).
 */
export type PreferredVersion = 'majority' | 'newest' | 'oldest' | 'local' | `${number}.${number}`;

export interface DecisionContext {
  readonly serverId?: string | undefined;
  /** Send requests that the local server and others serve to one of the others. Default false. */
  readonly localServerIsDown?: boolean | undefined;
  /** Milliseconds since the epoch. Left out: whatever changes of versions the snapshot foresees count. */
  readonly now?: number | undefined;
  readonly query?: string | undefined;
  readonly reroutedByVerifiedPeer: boolean;
  /** Default `majority`. */
  readonly preferredVersion?: PreferredVersion | undefined;
  /** Told every rule that is looked at, in order; `matched` where it ends the search. Left out on the request path. */
  readonly trace?: ((...step: [rule: string, matched: boolean, detail: string]) => void) | undefined;
}

export interface DecisionStep {
  readonly rule: string;
  readonly matched: boolean;
  readonly detail: string;
}

/** Stable, machine-readable. */
export type DecisionReason =
  | 'NotAResourceRequest'
  | 'MergedDocument'
  | 'AlreadyRerouted'
  | 'NoSnapshot'
  | 'ServedLocally'
  | 'ExtensionAPIServer'
  | 'CustomResource'
  | 'ServedByPeer'
  | 'PeerAddressUnknown'
  | 'ServerDeparted'
  | 'ServerNotKnown'
  | 'NotServedByAnyServer'
  | 'LocalServerDown'
  | 'PreferredVersion'
  | 'FeatureGateDisabled';

export type Decision =
  | { readonly decision: 'local'; readonly reason: DecisionReason; readonly candidates: readonly [] }
  | {
      readonly decision: 'peer';
      readonly reason: DecisionReason;
      /** With `LocalServerDown`: why the request would have been the local server's. */
      readonly inPlaceOf?: DecisionReason;
      readonly candidates: readonly RoutingServer[];
      /** The first healthy candidate is asked, each time the same one, so that what it has shown once does not vanish again. */
      readonly isInOrder?: boolean;
      readonly versions?: VersionChoice;
    }
  | { readonly decision: 'unavailable'; readonly reason: DecisionReason; readonly candidates: readonly [] };

/** Which version serves a request whose outcome depends on it, and who is asked when it does not. */
export interface VersionChoice {
  /** The version that every router with this snapshot prefers, of those that serve it. `undefined`: it is not known. */
  readonly preferred: string | undefined;
  /** The version of the candidates: another one where none of the preferred version can be asked. */
  readonly asked: string | undefined;
  /** The servers that are asked when no candidate responds, in this order; the local server can be among them. */
  readonly others: readonly ServersOfVersion[];
  /** Custom resources: every server serves them. */
  readonly ofEveryServer: boolean;
}

/** To be made once: on the request path a decision other than `peer` allocates nothing. */
export const localDecision = (reason: DecisionReason): Decision =>
  Object.freeze({ decision: 'local', reason, candidates: [] as const });

export const unavailableDecision = (reason: DecisionReason): Decision =>
  Object.freeze({ decision: 'unavailable', reason, candidates: [] as const });
