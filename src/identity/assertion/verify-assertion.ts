import type { UserInfo } from '../../request/user-info.ts';
import { type Logger, silentLogger } from '../../runtime/logger.ts';
import { SnapshotError, type SnapshotErrorCode } from '../../snapshot/format/snapshot-error.ts';
import { type VerifiedPayload, verifySealed } from '../../snapshot/signing/open-sealed.ts';
import {
  assertionLeeway,
  maximumAssertionLifetime,
  type PeerAssertionClaims,
  parseAssertionClaims,
  peerAssertionType,
} from './assertion-claims.ts';
import type { AssertionKeySet } from './assertion-keys.ts';
import { maximumAssertionLength } from './assertion-signer.ts';
import { PeerAssertionError, type PeerAssertionErrorCode } from './peer-assertion-error.ts';
import { ReplayWindow } from './replay-window.ts';

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

/** The request that an assertion came with. */
export interface AssertedRequest {
  readonly method: string;
  readonly target: string;
  /** It carries the reroute mark. */
  readonly rerouted: boolean;
}

/** What a believed assertion says. */
export interface VerifiedAssertion {
  readonly user: UserInfo;
  readonly issuer: string;
  /** The key that signed it. */
  readonly kid: string;
}

/** Milliseconds between two complaints about a full replay window. */
const complaintInterval = 10_000;

/** Decides whether a peer assertion is to be believed, each one once. */
export class AssertionVerifier {
  readonly #options: AssertionVerifierOptions;
  readonly #clock: () => number;
  readonly #logger: Logger;
  /** One for each issuer, so that an issuer that floods blocks only itself. */
  readonly #windows = new Map<string, ReplayWindow>();
  #lastComplaint = Number.NEGATIVE_INFINITY;

  constructor(options: AssertionVerifierOptions) {
    this.#options = options;
    this.#clock = options.clock ?? Date.now;
    this.#logger = options.logger ?? silentLogger;
  }

  /**
   * Signature first, then content, then time, then the request it is bound to; the nonce counts as used only
   * when all of that holds.
   * @throws {PeerAssertionError}
   */
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
    const now = Math.floor(this.#clock() / 1000);
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
    this.#complain(iss, window.size);
    throw refused('ReplayWindowFull', 'came with more of them than can be told from replays');
  }

  #complain(issuer: string, remembered: number): void {
    const now = performance.now();
    if (now - this.#lastComplaint < complaintInterval) return;
    this.#lastComplaint = now;
    this.#logger.error(
      { issuer, remembered },
      'The replay window of an issuer is full: its assertions are refused until earlier ones expire',
    );
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
