import { allHeaders } from '../../apimachinery/raw-headers.ts';
import { carriesRerouteMark, peerAssertionHeader } from '../../request/headers.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import type { Caller, UserInfo } from '../../request/user-info.ts';
import { type Logger, silentLogger } from '../../runtime/logger.ts';
import { SnapshotError, type SnapshotErrorCode } from '../../snapshot/format/snapshot-error.ts';
import { type VerifiedPayload, verifySealed } from '../../snapshot/signing/open-sealed.ts';
import { AuthenticationError, type Authenticator } from '../authenticator.ts';
import {
  assertionLeeway,
  maximumAssertionLifetime,
  type PeerAssertionClaims,
  parseAssertionClaims,
  peerAssertionType,
} from './assertion-claims.ts';
import type { AssertionKeySet } from './assertion-keys.ts';
import { maximumAssertionLength } from './assertion-signer.ts';

export type PeerAssertionErrorCode =
  /** Too long, several of them, no compact JWS, of another `typ`, or with claims missing or unknown. */
  | 'Malformed'
  /** No key is pinned under its `kid`. */
  | 'UnknownKey'
  /** The signature does not hold, or is of another algorithm than the key's. */
  | 'BadSignature'
  /** The key may not speak for the issuer that it names. */
  | 'WrongIssuer'
  /** Meant for another destination. */
  | 'WrongAudience'
  | 'Expired'
  | 'NotYetValid'
  /** Valid for longer than any assertion may be. */
  | 'LifetimeTooLong'
  /** Made for another method, path or reroute mark. */
  | 'RequestMismatch'
  | 'Replayed'
  /** Too many at once to be told from replays. */
  | 'ReplayWindowFull';

/** A refused assertion ends the request, which must not run under another identity that the connection has. */
export class PeerAssertionError extends AuthenticationError {
  override readonly isFinal = true;
  readonly code: PeerAssertionErrorCode;
  /** @param message the reason. The sender sees it, so it quotes nothing of the assertion. */
  constructor(code: PeerAssertionErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

type Admission =
  | 'fresh'
  /** Seen before, or so old that its record may be gone. */
  | 'replayed'
  /** No room left to remember it, so it must not be believed. */
  | 'full';

/** A day and its seconds: an assertion is old for good unless the clock is set back by more than that. */
const maximumForgotten = 86_400;

/**
 * Remembers nonces until what they came with has expired. Bounded: what comes on top is refused. Taking a nonce is one
 * synchronous step, so that of two at once one wins.
 */
export class ReplayWindow {
  readonly #capacity: number;
  /** By the second in which they may be forgotten: forgetting is dropping whole sets. */
  readonly #byDeadline = new Map<number, Set<string>>();
  #size = 0;
  #lookedUntil = 0;
  /** The deadlines whose nonces have been forgotten, in that order; a clock set back does not revive them. */
  readonly #forgotten = new Set<number>();

  /** @param capacity nonces; some 70 bytes each. */
  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#size;
  }

  /**
   * @param deadline the Unix second from which on the nonce's bearer is refused for its age.
   * @param now Unix seconds.
   */
  take(nonce: string, deadline: number, now: number): Admission {
    this.#forget(now);
    // A clock that was set back must not bring expired ones back to life.
    if (this.#forgotten.has(deadline)) return 'replayed';
    let nonces = this.#byDeadline.get(deadline);
    if (nonces?.has(nonce)) return 'replayed';
    if (this.#size >= this.#capacity) return 'full';
    if (nonces === undefined) {
      nonces = new Set();
      this.#byDeadline.set(deadline, nonces);
    }
    nonces.add(nonce);
    this.#size++;
    return 'fresh';
  }

  #forget(now: number): void {
    if (now === this.#lookedUntil) return;
    this.#lookedUntil = now;
    for (const [deadline, nonces] of this.#byDeadline) {
      if (deadline > now) continue;
      this.#byDeadline.delete(deadline);
      this.#size -= nonces.size;
      this.#forgotten.add(deadline);
    }
    for (const first of this.#forgotten) {
      if (this.#forgotten.size <= maximumForgotten) break;
      this.#forgotten.delete(first);
    }
  }
}

export interface AssertionVerifierOptions {
  /** Public keys of the routers that are believed, each bound to its issuer. Asked for every assertion. */
  readonly keys: () => AssertionKeySet;
  /** API server ID of this router's local server: what assertions must be meant for. Asked for every assertion. */
  readonly audience: string;
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly clock?: () => number;
  /** Assertions of one issuer that may be valid at the same time. Default 131,072: 3,700 a second, 9 MB. */
  readonly replayCapacity?: number;
  /** Default: logs nothing. */
  readonly logger?: Logger;
}

interface AssertedRequest {
  readonly method: string;
  readonly target: string;
  readonly rerouted: boolean;
}

interface VerifiedAssertion {
  readonly user: UserInfo;
  readonly issuer: string;
  readonly kid: string;
}

const complaintInterval = 10_000;

/**
 * Callers that another router vouches for with a signed assertion, where there is no mutual TLS between the two. Its word
 * counts as a front proxy's does, the reroute mark included.
 *
 * Not for routers without pinned keys: without this authenticator the header is ignored, and removed as every
 * identity header is.
 */
export class PeerAssertionAuthenticator implements Authenticator {
  readonly name = 'peer-assertion';
  readonly #options: AssertionVerifierOptions;
  readonly #logger: Logger;
  /** One for each issuer, so that an issuer that floods blocks only itself. */
  readonly #windows = new Map<string, ReplayWindow>();
  #lastComplaint = Number.NEGATIVE_INFINITY;

  constructor(options: AssertionVerifierOptions) {
    this.#options = options;
    this.#logger = options.logger ?? silentLogger;
  }

  authenticate(inbound: InboundRequest): Promise<Caller> | undefined {
    const [assertion, ...others] = allHeaders(inbound.headers, peerAssertionHeader);
    if (assertion === undefined) return undefined;
    // Which of two counts would be anyone's guess.
    if (others.length > 0) {
      throw new PeerAssertionError('Malformed', 'the request carries more than one peer assertion');
    }
    return this.#believe(assertion, inbound);
  }

  async #believe(assertion: string, inbound: InboundRequest): Promise<Caller> {
    const { user, issuer, kid } = await this.verify(assertion, {
      method: inbound.method,
      target: inbound.target,
      rerouted: carriesRerouteMark(inbound.headers),
    });
    this.#logger.debug({ issuer, kid, user: user.name }, 'A peer assertion was accepted');
    return { kind: 'authenticated', user, authenticator: this.name, viaVerifiedPeer: true };
  }

  /** The nonce counts as used only when all else holds. @throws {PeerAssertionError} */
  async verify(jws: string, request: AssertedRequest): Promise<VerifiedAssertion> {
    const keys = this.#options.keys();
    const { text, kid } = await openSealed(jws, keys);
    const parsed = parseAssertionClaims(text);
    if (!parsed.ok) throw refused('Malformed', `is malformed: ${parsed.issue}`);
    const { claims } = parsed;
    const issuer = keys.get(kid)?.issuer;
    if (issuer === undefined || claims.iss !== issuer) {
      throw refused('WrongIssuer', 'names an issuer that its key does not speak for');
    }
    if (claims.aud !== this.#options.audience) {
      throw refused('WrongAudience', 'is meant for another destination');
    }
    const now = Math.floor((this.#options.clock ?? Date.now)() / 1000);
    checkTimes(claims, now);
    checkRequest(claims, request);
    this.#takeNonce(claims, now);
    return { user: claims.user, issuer, kid };
  }

  #takeNonce({ iss, jti, exp }: PeerAssertionClaims, now: number): void {
    let window = this.#windows.get(iss);
    if (window === undefined) {
      window = new ReplayWindow(this.#options.replayCapacity ?? 131_072);
      this.#windows.set(iss, window);
    }
    const admission = window.take(jti, exp + assertionLeeway, now);
    if (admission === 'replayed') throw refused('Replayed', 'has been used before');
    if (admission === 'fresh') return;
    if (performance.now() - this.#lastComplaint >= complaintInterval) {
      this.#lastComplaint = performance.now();
      this.#logger.error(
        { issuer: iss, remembered: window.size },
        'The replay window of an issuer is full: its assertions are refused until earlier ones expire',
      );
    }
    throw refused('ReplayWindowFull', 'came with more of them than can be told from replays');
  }
}

const codes: Readonly<Partial<Record<SnapshotErrorCode, PeerAssertionErrorCode>>> = {
  UnknownKey: 'UnknownKey',
  BadSignature: 'BadSignature',
};

async function openSealed(jws: string, keys: AssertionKeySet): Promise<VerifiedPayload> {
  try {
    return await verifySealed(jws, keys, {
      subject: 'the peer assertion',
      typ: peerAssertionType,
      limit: maximumAssertionLength,
    });
  } catch (error) {
    if (!(error instanceof SnapshotError)) throw error;
    throw new PeerAssertionError(codes[error.code] ?? 'Malformed', error.message, { cause: error });
  }
}

function checkTimes({ iat, nbf, exp }: PeerAssertionClaims, now: number): void {
  if (exp - iat > maximumAssertionLifetime) {
    throw refused('LifetimeTooLong', `is valid for longer than ${maximumAssertionLifetime} seconds`);
  }
  // RFC 7519 section 4.1.4: on or after `exp` it must not be accepted.
  if (now >= exp + assertionLeeway) throw refused('Expired', 'has expired');
  if (Math.max(iat, nbf) > now + assertionLeeway) {
    throw refused('NotYetValid', 'is not valid yet: compare the clocks of both routers');
  }
}

function checkRequest(claims: PeerAssertionClaims, request: AssertedRequest): void {
  const { method, path, rerouted } = claims;
  if (method !== request.method || path !== request.target) {
    throw refused('RequestMismatch', 'was made for another method or path');
  }
  // The mark decides whether the request may travel on, so nothing in between may add or remove it.
  if (rerouted !== request.rerouted) throw refused('RequestMismatch', 'contradicts the reroute mark');
}

function refused(code: PeerAssertionErrorCode, what: string): PeerAssertionError {
  return new PeerAssertionError(code, `the peer assertion ${what}`);
}
