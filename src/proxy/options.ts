import type { AssertionSigner } from '../identity/assertion/assertion-signer.ts';
import type { Authenticator } from '../identity/authenticator.ts';
import type { Destination } from '../request/destination.ts';
import { defaultIdentityHeaderNames, type IdentityHeaderNames, newPseudonym } from '../request/headers.ts';
import type { InboundRequest, RequestObserver } from '../request/inbound.ts';
import type { Transport } from '../request/transport.ts';
import type { PreferredVersion } from '../routing/decision.ts';
import { defaultPreferredVersion } from '../routing/preferred-version.ts';
import { defaultLogger } from '../runtime/console-logger.ts';
import type { Logger } from '../runtime/logger.ts';
import { monotonicNow, steadyNow } from '../runtime/time.ts';
import type { UnconfirmedServers, Untold } from '../servers/confirmations.ts';
import type { ServerBook } from '../servers/server-book.ts';
import type { RoutingTable } from '../snapshot/routing-table/routing-table.ts';
import type { AdmittedRequest } from './admitted-request.ts';
import { RetryBudget } from './other-servers.ts';
import type { RequestGate } from './request-gate.ts';
import { ServerLoad } from './server-choice.ts';

export interface RoutingTableSource {
  /** The table in force, or `undefined` while there has been no snapshot. */
  current(): RoutingTable | undefined;
  /**
   * When it was last asked, and heard, that `current` says what there is now, by `monotonicClock`; `undefined`: never. While
   * servers are of several versions, writes of what they understand differently wait for a younger word. Left out: nobody is
   * asked, and they are sent all the same.
   */
  confirmedAt?(): number | undefined;
  /** Servers that have fallen silent. They are asked again now; `undefined`: there are none. Left out: nobody is asked. */
  unconfirmed?(within: number): UnconfirmedServers | undefined;
  /** Reads wait like writes until a snapshot has come after a time without any server. Left out: they do not. */
  untold?(): Untold;
  /** True while nothing is known yet, and the first snapshot may come any moment. Left out: nobody waits for it. */
  isAwaited?(): boolean;
}

export interface MixedVersionProxyOptions {
  /**
   * The local API server, its `id` as the snapshot has it: asked anew each time, for snapshots may come to name a server
   * otherwise. In a library, `next()` stands for it. Left out in the gateway form, in which no server is closer than another.
   */
  readonly local?: Destination | undefined;
  readonly routingTable: RoutingTableSource;
  readonly transport: Transport;
  /** Tried in order; the first verdict counts. Default: none, so that every caller passes through. */
  readonly authenticators?: readonly Authenticator[];
  /** True if the connection belongs to a trusted front proxy. Default: none does. */
  readonly isVerifiedPeer?: (inbound: InboundRequest) => boolean;
  /** This router's name in `Via`, by which it notices a request that comes back. Default: a random one. */
  readonly pseudonym?: string;
  readonly identityHeaderNames?: IdentityHeaderNames;
  /**
   * Signs who calls, for destinations that are routers and have pinned its key. Default: none; all destinations get
   * X-Remote headers over connections with the front-proxy certificate.
   */
  readonly assertionSigner?: AssertionSigner | undefined;
  /**
   * The version that the cluster is to look like while its servers have several. Default: the version of the majority,
   * for resources that servers understand differently. Where servers have not been compared (servers with a `version`,
   * sets without `schemas`), that is every resource that servers of several versions share.
   */
  readonly preferredVersion?: PreferredVersion | undefined;
  /** The feature gate `UnknownVersionInteroperabilityProxy`. Off: every request goes to the local server. Default true. */
  readonly enabled?: boolean;
  /** Milliseconds since the epoch, compared with a snapshot's times. Default `Date.now`. */
  readonly clock?: () => number;
  /** As `clock`, of one that only rises and that nobody sets: the clock of a table's changes of versions. Default `steadyNow`. */
  readonly steadyClock?: () => number;
  /** Milliseconds of a monotonic clock, for durations. Default `performance.now`. */
  readonly monotonicClock?: () => number;
  /** In [0, 1), for the choice between servers. Default `Math.random`. */
  readonly random?: () => number;
  /** Default: warnings and errors on the console, a JSON object a line. */
  readonly logger?: Logger;
  /** Observers of every request: metrics, access log. Default: none. */
  readonly observers?: readonly RequestObserver[];
}

/** Parts that a process shares with its router. A program that uses the library has none of it: each has its default. */
export interface RouterParts {
  /** The health of servers, as far as it is known. Default: only what requests themselves meet. */
  readonly health?: ServerBook | undefined;
  readonly load?: ServerLoad | undefined;
  readonly retryBudget?: RetryBudget | undefined;
  readonly gate?: RequestGate | undefined;
  /** The response to a request that must reach no server. Default: there is no such request. */
  readonly refuse?: ((request: Omit<AdmittedRequest, 'view'>) => Response | undefined) | undefined;
}

/** The options with every default in its place. What has no default stays optional: it is there or not. */
export type RouterSettings = MixedVersionProxyOptions &
  RouterParts &
  Readonly<ReturnType<typeof withDefaults>>;

function withDefaults(options: MixedVersionProxyOptions & RouterParts) {
  const { monotonicClock = monotonicNow } = options;
  return {
    monotonicClock,
    enabled: options.enabled ?? true,
    authenticators: options.authenticators ?? [],
    isVerifiedPeer: options.isVerifiedPeer ?? (() => false),
    pseudonym: options.pseudonym ?? newPseudonym(),
    identityHeaderNames: options.identityHeaderNames ?? defaultIdentityHeaderNames,
    preferredVersion: options.preferredVersion ?? defaultPreferredVersion,
    clock: options.clock ?? Date.now,
    steadyClock: options.steadyClock ?? steadyNow,
    random: options.random ?? Math.random,
    logger: options.logger ?? defaultLogger,
    load: options.load ?? new ServerLoad(monotonicClock),
    retryBudget: options.retryBudget ?? new RetryBudget(),
    observers: options.observers ?? [],
  };
}

export function resolveOptions<Options extends MixedVersionProxyOptions & RouterParts>(
  options: Options,
): Options & RouterSettings {
  if (options.local === undefined && options.enabled === false) {
    throw new TypeError('A gateway has no local server: enabled false needs local.');
  }
  return { ...options, ...withDefaults(options) };
}

/**
 * For the doors of the library: a program in JavaScript has no compiler that tells.
 * @throws {TypeError} with everything that is missing, or is of another kind
 */
export function checkOptions(given: Partial<MixedVersionProxyOptions> | undefined): void {
  const { transport, routingTable, local, assertionSigner, logger } = given ?? {};
  const faults: string[] = [];
  const need = (holds: boolean, what: string): unknown => holds || faults.push(what);
  need(
    typeof transport?.send === 'function',
    'transport must be an object with send(): createFetchTransport() makes one',
  );
  need(
    typeof routingTable?.current === 'function',
    'routingTable must be an object with current(): a SnapshotReceiver, or { current: () => buildRoutingTable(snapshot) }',
  );
  need(
    local === undefined || (typeof local === 'object' && typeof local?.origin === 'string' && 'id' in local),
    'local must be { kind, id, origin, serverName, trust }, or be left out where no server is closer than another',
  );
  need(
    assertionSigner === undefined || typeof assertionSigner?.sign === 'function',
    'assertionSigner must be an object with sign(): createAssertionSigner() makes one',
  );
  need(
    logger === undefined || typeof logger?.warn === 'function',
    'logger must have debug(), info(), warn() and error()',
  );
  if (faults.length > 0) throw new TypeError(`mixed-version-proxy: ${faults.join('; ')}`);
}
