import { firstHeader } from '../../apimachinery/raw-headers.ts';
import { AuthenticationError, type Authenticator } from '../../identity/incoming/authenticator.ts';
import { TokenError } from '../../identity/jwt/token-error.ts';
import type { TokenIssuer } from '../../identity/jwt/token-issuer.ts';
import { verifySignature } from '../../identity/jwt/verify-signature.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import type { Caller } from '../../request/user-info.ts';
import type { Logger } from '../../runtime/logger.ts';
import { WorkerInboundRequest } from '../platform/worker-inbound.ts';

/** Longer than any that Access makes; a longer one would cost more to check than to send. */
const longestToken = 64 * 1024;

export interface AccessAuthenticatorOptions {
  /** The team, whose `issuer` the token's `iss` has to be. */
  readonly issuer: TokenIssuer;
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly clock?: () => number;
  readonly logger: Logger;
}

/**
 * Callers that Cloudflare Access has let in: by the signed token that it adds, never by the plain headers that come with it,
 * which anyone can write who finds a way around Access (developers.cloudflare.com/cloudflare-one, "Validate JWTs").
 *
 * Whoever also brings an Authorization header of their own means that: Access has no say about it then.
 */
export class AccessAuthenticator implements Authenticator {
  readonly name = 'cloudflare-access';
  readonly #issuer: TokenIssuer;
  readonly #clock: () => number;
  readonly #logger: Logger;

  constructor({ issuer, clock = Date.now, logger }: AccessAuthenticatorOptions) {
    this.#issuer = issuer;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** @throws {AuthenticationError} for a token that is wrong, or that cannot be checked: no one after this can. */
  async authenticate(inbound: InboundRequest): Promise<Caller | undefined> {
    const token = inbound instanceof WorkerInboundRequest ? inbound.accessToken : undefined;
    if (token === undefined || firstHeader(inbound.headers, 'authorization') !== undefined) return undefined;
    try {
      if (token.length > longestToken) throw new TokenError('MalformedToken', 'is too long');
      const claims = await verifySignature(token, this.#issuer.keys);
      if (claims['iss'] !== this.#issuer.issuer) {
        throw new TokenError('InvalidClaim', 'is of another issuer than the configured team');
      }
      const user = this.#issuer.identify(claims, this.#clock());
      return { kind: 'authenticated', user, authenticator: this.name, viaVerifiedPeer: false };
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      this.#logger.debug({ reason: error.code }, 'A token of Cloudflare Access was refused');
      throw new AuthenticationError(`the token of Cloudflare Access ${error.message}`, { cause: error });
    }
  }
}
