import type { FetchImplementation, JWTPayload, JWTVerifyGetKey } from 'jose';
import { createRemoteJWKSet, customFetch } from 'jose/jwks/remote';
import { decodeJwt } from 'jose/jwt/decode';
import { jwtVerify } from 'jose/jwt/verify';
import { allHeaders } from '../../apimachinery/raw-headers.ts';
import { AuthenticationError, type Authenticator } from '../../identity/authenticator.ts';
import { X509Authenticator } from '../../identity/x509.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import type { Caller, UserInfo } from '../../request/user-info.ts';
import { websocketBearerToken } from '../../request/websocket-bearer.ts';
import { readText } from '../../runtime/bytes.ts';
import { errorCode, errorMessage } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { CallerMethods, TokenIssuer } from '../configuration/configuration.ts';
import { WorkerInboundRequest } from '../platform/worker-inbound.ts';
import { type PlatformCertificate, platformCertificate } from './platform-certificate.ts';
import { hashOf, VerifiedTokens } from './verified-tokens.ts';

/** Asymmetric ones alone: with HMAC a public key would be a secret that everyone knows (RFC 8725 section 3.1). */
const algorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
/** Seconds by which two clocks may differ. */
const clockTolerance = 30;
/** Characters. A user in 1,000 groups fits; a longer token would cost more to check than to send. */
const longestToken = 64 * 1024;
/** Bytes of a key set. Real ones have a few thousand. */
const longestKeySet = 256 * 1024;
/** Milliseconds: for one fetch of the keys, and between two, whether the last one succeeded or not. */
const fetchTimeout = 5_000;
const fetchInterval = 30_000;

/** RFC 6750 section 2.1, with the one space that kube-apiserver wants (pkg/authentication/request/bearertoken). */
const bearerCredentials = /^bearer ([\w\-.~+/]+=*)$/i;

class KeysUnavailable extends Error {}

/**
 * Callers by a JSON Web Token of one issuer: a bearer token, or the one that Cloudflare Access adds, whose plain headers anyone
 * can write who finds a way around Access. Whoever brings an Authorization header means that.
 *
 * A bearer token of another issuer, or one whose keys cannot be had, passes through to the API server, which may know more. A
 * wrong one is refused, and so is every one of Access, for no API server could verify it.
 */
export class TokenAuthenticator implements Authenticator {
  readonly name = 'jwt';
  readonly #issuer: TokenIssuer;
  readonly #keys: JWTVerifyGetKey;
  readonly #verified = new VerifiedTokens();

  constructor(
    issuer: TokenIssuer,
    logger: Logger,
    fetchKeys: typeof fetch = (url, init) => fetch(url, init),
  ) {
    this.#issuer = issuer;
    this.#keys = createRemoteJWKSet(issuer.keysUrl, {
      timeoutDuration: fetchTimeout,
      cooldownDuration: fetchInterval,
      [customFetch]: keptKeySet(fetchKeys, logger),
    });
  }

  /** @throws {AuthenticationError} for a token that is wrong. The message holds nothing of it. */
  async authenticate(inbound: InboundRequest): Promise<Caller | undefined> {
    const presented = tokenOf(inbound);
    if (presented === undefined) return undefined;
    const { token, isOfAccess } = presented;
    const { issuer, audience } = this.#issuer;
    if (!isOfAccess && (token.length > longestToken || claimedIssuer(token) !== issuer)) return undefined;
    if (token.length > longestToken) throw new AuthenticationError('the token is too long');
    const hash = await hashOf(token);
    const known = this.#verified.get(hash, Date.now());
    if (known !== undefined) return known;
    try {
      const rules = { algorithms, issuer, audience, clockTolerance, requiredClaims: ['exp'] };
      const { payload } = await jwtVerify(token, this.#keys, rules);
      // Frozen, so that its header lines are made once.
      const user = Object.freeze(userOf(payload, this.#issuer));
      const caller = {
        kind: 'authenticated',
        user,
        authenticator: this.name,
        viaVerifiedPeer: false,
      } as const;
      this.#verified.add(hash, token, Object.freeze(caller), { expires: payload.exp ?? 0, now: Date.now() });
      return caller;
    } catch (error) {
      if (error instanceof KeysUnavailable && !isOfAccess) return undefined;
      if (error instanceof AuthenticationError) throw error;
      // Without the cause, which holds the claims.
      throw new AuthenticationError(`the token ${wrong(error)}`);
    }
  }
}

function tokenOf(inbound: InboundRequest) {
  const lines = allHeaders(inbound.headers, 'authorization');
  const fromWebsocket = websocketBearerToken(inbound.headers);
  if (lines.length === 0 && fromWebsocket === undefined) {
    const token = inbound instanceof WorkerInboundRequest ? inbound.accessToken : undefined;
    return token === undefined ? undefined : { token, isOfAccess: true };
  }
  // Which of two speaks is the API server's to say.
  if (lines.length > 1 || (lines.length === 1 && fromWebsocket !== undefined)) return undefined;
  const token = fromWebsocket ?? bearerCredentials.exec(lines[0]?.trim() ?? '')?.[1];
  return token === undefined ? undefined : { token, isOfAccess: false };
}

/** Not verified. */
function claimedIssuer(token: string): string | undefined {
  try {
    return decodeJwt(token).iss;
  } catch {
    return undefined;
  }
}

/** @throws {AuthenticationError} for claims that name nobody, or somebody whom only Kubernetes itself may name */
function userOf(claims: JWTPayload, { usernameClaim, groupsClaim }: TokenIssuer): UserInfo {
  const name = claims[usernameClaim];
  if (typeof name !== 'string' || name === '')
    throw claimError(usernameClaim, 'must be the name of the user');
  // As kube-apiserver: an address that its issuer has not verified names nobody.
  if (usernameClaim === 'email' && (claims['email_verified'] ?? true) !== true) {
    throw claimError('email', 'is not verified');
  }
  const listed = groupsClaim === undefined ? [] : (claims[groupsClaim] ?? []);
  const groups: readonly unknown[] = Array.isArray(listed) ? listed : [listed];
  if (!groups.every((group) => typeof group === 'string')) {
    throw claimError(groupsClaim ?? '', 'must be a list of groups');
  }
  // The issuer could make a `system:masters` otherwise (kubernetes.io, "Authenticating": prefixes).
  if (name.startsWith('system:')) throw claimError(usernameClaim, 'begins with "system:"');
  if (groups.some((group) => group.startsWith('system:'))) {
    throw claimError(groupsClaim ?? '', 'has a group that begins with "system:"');
  }
  return { name, uid: '', groups, extra: new Map() };
}

function claimError(claim: string, what: string): AuthenticationError {
  return new AuthenticationError(`the token's claim ${claim} ${what}`);
}

/** By the `code` of jose's errors. */
const wrongs: Readonly<Record<string, string>> = {
  ERR_JWT_EXPIRED: 'has expired',
  ERR_JWT_CLAIM_VALIDATION_FAILED: 'has a wrong claim, or none',
  ERR_JOSE_ALG_NOT_ALLOWED: 'is not signed with an asymmetric algorithm',
  ERR_JWS_SIGNATURE_VERIFICATION_FAILED: 'has a signature that does not hold',
  ERR_JWKS_NO_MATCHING_KEY: 'is signed with a key that its issuer does not have',
};

/** The class of the error, and nothing of the token but the name of a claim. */
function wrong(error: unknown): string {
  const code = errorCode(error);
  if (!code.startsWith('ERR_J')) return 'cannot be verified now';
  const isClaims = code === 'ERR_JWT_CLAIM_VALIDATION_FAILED' && error instanceof Error && 'claim' in error;
  return `${wrongs[code] ?? 'is malformed'}${isClaims ? `: ${String(error.claim)}` : ''}`;
}

/**
 * Fetches a key set for jose, which asks for it every ten minutes and for unknown keys. When that fails, the last one
 * stays in use, and nobody tries again for `fetchInterval`: tokens must not make the router flood their issuer. On Workers no
 * request may wait for the fetch of another (decisions/0008): while one is under way, the known keys are used.
 */
function keptKeySet(fetchKeys: typeof fetch, logger: Logger): FetchImplementation {
  let known: string | undefined;
  let begunAt = Number.NEGATIVE_INFINITY;
  let failedAt = Number.NEGATIVE_INFINITY;
  return async (url, init) => {
    const now = performance.now();
    if (now - (known === undefined ? failedAt : Math.max(begunAt, failedAt)) >= fetchInterval) {
      begunAt = now;
      try {
        const { status, body } = await fetchKeys(url, init);
        if (status !== 200 || body === null) throw new Error(`status ${status}`);
        const text = (await readText(body, longestKeySet)) ?? '';
        const { keys } = JSON.parse(text) as { readonly keys: unknown };
        if (!Array.isArray(keys)) throw new TypeError('no key set');
        known = text;
      } catch (error) {
        failedAt = performance.now();
        const message = 'The keys of the issuer of tokens cannot be fetched: the known ones stay in use';
        logger.error({ url, error: errorMessage(error) }, message);
      }
    }
    if (known === undefined) throw new KeysUnavailable();
    return new Response(known);
  };
}

export interface CallerIdentification {
  readonly authenticators: readonly Authenticator[];
  /** The facts that `request.cf` proves about the caller; none, unless the platform's word counts. */
  readonly certificateOf: (cf: unknown) => PlatformCertificate;
}

/** No header that a client can write counts: a token is signed, and a certificate is what the platform itself has verified. */
export function createCallerIdentification(
  { clientCertificates, tokenIssuer }: CallerMethods,
  logger: Logger,
): CallerIdentification {
  return {
    authenticators: [
      ...(clientCertificates ? [new X509Authenticator()] : []),
      ...(tokenIssuer === undefined ? [] : [new TokenAuthenticator(tokenIssuer, logger)]),
    ],
    certificateOf: clientCertificates ? platformCertificate : () => ({}),
  };
}
