import type { Destination } from '../request/destination.ts';
import type { SnapshotServer } from '../snapshot/format/schema.ts';
import type { ServerWord } from './server-word.ts';

/** All instants are milliseconds of a clock that only rises. */
export type Instant = number;

/**
 * Milliseconds for which a server that was lost is taken for a server that starts. A kube-apiserver takes a few seconds. A
 * minute after the last loss the server is used all the same: its `/readyz` may be wrong, and the sync job may be down.
 */
export const startDuration = 60_000;

/**
 * Connections to a server were refused, or broke, or its Lease has changed hands. The server may be another process by now:
 * kube-apiserver responds with 403 to everybody until its RBAC caches are filled, and says at `/readyz` when they are
 * (k8s.io/kubernetes pkg/registry/rbac/rest/storage_rbac.go, hook `rbac/bootstrap-roles`).
 */
export interface Loss {
  /** The first loss in a row without a successful probe. */
  readonly since: Instant;
  /** The last loss. A probe that began earlier has asked the process of before. */
  readonly at: Instant;
  /** Another process holds the Lease since then. However long the process of before was away, the new process starts. */
  readonly changedHandsAt?: Instant | undefined;
  /** Nothing takes connections there, for anybody. False: the server may be silent for this router alone. */
  readonly isGone: boolean;
  /** The beginning of the last probe that found the server not ready by its own word, or the last refused connection. */
  readonly notReadyAt: Instant;
}

export interface Untried {
  readonly kind: 'untried';
  /**
   * `NeverAsked`: used like a ready server. `KnowledgeOutdated`: the snapshot's word on the server is of an earlier run of this
   * process, or of before this process stood still, or contradicts what the server said. Requests wait for one probe.
   */
  readonly reason: 'NeverAsked' | 'KnowledgeOutdated';
  readonly since: Instant;
  readonly failures: number;
  /** There for `KnowledgeOutdated`. */
  readonly loss?: Loss | undefined;
}

export interface Ready {
  readonly kind: 'ready';
  readonly since: Instant;
  /** Successful probes in a row, counted up to the threshold. */
  readonly successes: number;
}

/** Still asked; a probe is under way, or comes soon. */
export interface Suspect {
  readonly kind: 'suspect';
  /** `NotVerified`: the server contradicts the snapshot, and nobody has resolved that for a minute. */
  readonly reason: 'NoResponse' | 'GoAway' | 'ProbeFailed' | 'NotVerified';
  readonly since: Instant;
  readonly failures: number;
  /** The last doubt of a request. A probe that began earlier does not answer the doubt. Left out: no request has doubted. */
  readonly doubtedAt?: Instant | undefined;
  /** Requests wait for the next probe: the server may be another process, and has not been verified since. */
  readonly isAwaited: boolean;
}

interface Down {
  readonly since: Instant;
  readonly successes: number;
  /** There from the first loss until a probe succeeds. */
  readonly loss?: Loss | undefined;
  /** True for a minute after the last loss: nothing is sent to the server. False: it is asked when no other server is left. */
  readonly isHeld: boolean;
}

/** The server says that it is not ready. */
export interface Unready extends Down {
  readonly kind: 'unready';
}

/** The server does not respond. */
export interface Unreachable extends Down {
  readonly kind: 'unreachable';
}

/** The server was ready before the loss. Requests wait for the first probe; after a failed probe nothing is sent. */
export interface Restarting {
  readonly kind: 'restarting';
  readonly reason: 'ConnectionLost' | 'NotReady' | 'NoResponse';
  readonly since: Instant;
  readonly loss: Loss;
  /** A probe has failed since the loss. */
  readonly isTried: boolean;
  /** Failed probes in a row since the loss; the threshold at least where the server was down before. */
  readonly failures: number;
}

/** The server answers, and is not the process of which the snapshot told. Nothing is sent. */
export interface Unverified {
  readonly kind: 'unverified';
  /**
   * `SaysOtherwise`: by its own word. `SnapshotOutdated`: the same, and the snapshot is of before (`KnowledgeOutdated`).
   * `LeaseChanged`: another process holds its Lease.
   */
  readonly reason: 'SaysOtherwise' | 'SnapshotOutdated' | 'LeaseChanged';
  readonly since: Instant;
  readonly loss: Loss;
}

/** The server left in order: its Lease was deleted. It may still respond, and may come back. */
interface Departed {
  readonly kind: 'departed';
  readonly since: Instant;
  /** The state by probes and requests, which goes on. */
  readonly present: PresentState;
}

export type PresentState = Untried | Ready | Suspect | Unready | Unreachable | Restarting | Unverified;
export type ServerState = PresentState | Departed;

export type ProbeOutcome =
  | 'ready'
  /** 200, and what the server says of itself is not what the snapshot has: it was upgraded, or restarted with other flags. */
  | 'changed'
  /** The server responds, but not to that question (401, 403, 404, 429): alive, and nothing is known against it. */
  | 'alive'
  /** 403 to that and to `/api`, which every authenticated user may read: as a kube-apiserver that does not know its roles yet. */
  | 'refusing'
  /** 5xx: the server runs and asks not to be used, as kube-apiserver does while it starts and shuts down. */
  | 'not-ready'
  /** Nothing takes connections there. */
  | 'refused'
  /** No connection in time, or a TLS failure. */
  | 'not-connected'
  /** No response on a connection: reset, or none in time. */
  | 'unreachable';

/** Everything that this process knows of one API server. Immutable; `next` makes the next one. */
export interface ServerRecord {
  readonly id: string;
  readonly state: ServerState;
  /** Where the server is reached. */
  readonly destination?: Destination | undefined;
  /** The word of the snapshot in use on the server. Left out: the snapshot does not have the server. */
  readonly told?: SnapshotServer | undefined;
  /** When a snapshot came for which the server had been read. Left out: the last one says that it could not be. */
  readonly readAt?: Instant | undefined;
  /** The server's word on itself, while the snapshot says something else. */
  readonly word?: ServerWord | undefined;
  /** The beginning of the last probe that found no other process ready than the known one, or nothing that takes connections. */
  readonly confirmedAt?: Instant | undefined;
  /** The same of the last such probe while the snapshot had the server. */
  readonly provenAt?: Instant | undefined;
  /**
   * The server has said otherwise than the snapshot, which has not told of it: until then others may go by that, and nothing is
   * confirmed.
   */
  readonly othersGoByItUntil?: Instant | undefined;
  /** The beginning of the last probe. Left out: the server is not probed, so nobody could say that it is back. */
  readonly askedAt?: Instant | undefined;
  /** The last probe that has ended. */
  readonly answer?: { readonly askedAt: Instant; readonly outcome: ProbeOutcome } | undefined;
  /** The server has said of itself what the snapshot says, and nothing has given reason to doubt that it is the same process. */
  readonly isVerified: boolean;
  /** A probe was responded to with 200 once: this router may read the server's `/readyz`. */
  readonly hasShownReadiness: boolean;
  /** The server was found silent then (`SilenceWatch`). Left out once it is ready again, or refuses connections. */
  readonly silentAt?: Instant | undefined;
}

export type ServerEvent =
  /** A probe begins. */
  | { readonly kind: 'asked' }
  /** A probe has ended. @param askedAt the probe began then */
  | { readonly kind: 'answered'; readonly askedAt: Instant; readonly outcome: ProbeOutcome }
  | { readonly kind: 'connection lost'; readonly isRefused: boolean }
  /** A request got no response on a connection that stood. That proves no outage. */
  | { readonly kind: 'no response' }
  /** The server takes no more requests on a connection. Behind the next connection may be another process. */
  | { readonly kind: 'GOAWAY' }
  /** The server responds to nothing while other servers do. */
  | { readonly kind: 'silent' }
  /** Another process holds the Lease than the process of which the snapshot tells. */
  | { readonly kind: 'lease changed' }
  /** The snapshot says of the server what the server says. */
  | { readonly kind: 'read' }
  /** The knowledge of the server is from before this process could know. */
  | { readonly kind: 'outdated' }
  /** This process stood still: whatever was confirmed is of long ago. */
  | { readonly kind: 'stood still' }
  | { readonly kind: 'departed' }
  | { readonly kind: 'returned' }
  /** A snapshot. @param agrees the snapshot says what the server has said of itself otherwise before */
  | { readonly kind: 'told'; readonly told: SnapshotServer | undefined; readonly agrees: boolean }
  /** The server has said what it is. @param word left out: as the snapshot says */
  | { readonly kind: 'said'; readonly word: ServerWord | undefined }
  /** Time has passed: `endsAt` is reached. */
  | { readonly kind: 'time' };

/** HAProxy's `rise` and `fall`: rows of equal probes decide, so that a server that flaps stays as it was. */
export interface HealthThresholds {
  /** Probes in a row that must succeed before an unready or unreachable server is ready. At least 1. */
  readonly rise: number;
  /** Failures in a row that make a server unready or unreachable. At least 1. */
  readonly fall: number;
}

/** The state by probes and requests: of a server that has departed, the state that goes on. */
export function presentOf(state: ServerState): PresentState {
  return state.kind === 'departed' ? state.present : state;
}

const downStates: ReadonlySet<string> = new Set<ServerState['kind']>([
  'unready',
  'unreachable',
  'restarting',
  'unverified',
]);

/** @returns true if nothing is sent to a server in this state, or only where no other server is left, or after a probe */
export function isDownState(status: string): boolean {
  return downStates.has(status);
}

export type StateReason = Extract<PresentState, { readonly reason: string }>['reason'];

/** @returns left out where the name of the state says all; of a server that has departed: how it is found all the same */
export function reasonOf(state: ServerState): StateReason | undefined {
  const present = presentOf(state);
  return 'reason' in present && present.reason !== 'NeverAsked' ? present.reason : undefined;
}

export function lossOf(state: PresentState): Loss | undefined {
  return state.kind === 'ready' || state.kind === 'suspect' ? undefined : state.loss;
}

/** The process that starts now was started then at the earliest. */
export function startOf({ since, changedHandsAt = since }: Loss): Instant {
  return changedHandsAt;
}
