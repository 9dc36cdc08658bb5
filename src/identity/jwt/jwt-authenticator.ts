import { decodeJwt } from 'jose';
import { allHeaders, type RawHeaders } from '../../apimachinery/raw-headers.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import type { Caller } from '../../request/user-info.ts';
import { websocketBearerToken } from '../../request/websocket-bearer.ts';
import { type Logger, silentLogger } from '../../runtime/logger.ts';
import { AuthenticationError, type Authenticator } from '../incoming/authenticator.ts';
import { TokenError } from './token-error.ts';
import type { TokenIssuer } from './token-issuer.ts';
import { verifySignature } from './verify-signature.ts';

export interface JwtAuthenticatorOptions {
  /** Each `issuer` once. */
  readonly issuers: readonly TokenIssuer[];
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly clock?: () => number;
  readonly logger?: Logger;
}

/**
 * Longest token that is looked at. Real ones have one or two KB, those with hundreds of groups some ten; a longer
 * one passes through, for it would cost this router more than it costs its sender.
 */
const longestToken = 64 * 1024;

/**
 * JSON Web Tokens of configured issuers, in Authorization or in a WebSocket subprotocol.
 *
 * A token that is wrong (signature, time, audience, claims) is refused. One that cannot be judged here has no say:
 * of another issuer, no JWT at all, or signed with a key that is not known. It passes through to the API server,
 * which knows its own.
 */
export class JwtAuthenticator implements Authenticator {
  readonly name = 'jwt';
  readonly #issuers: ReadonlyMap<string, TokenIssuer>;
  readonly #clock: () => number;
  readonly #logger: Logger;

  constructor({ issuers, clock = Date.now, logger = silentLogger }: JwtAuthenticatorOptions) {
    this.#issuers = new Map(issuers.map((each) => [each.issuer, each]));
    this.#clock = clock;
    this.#logger = logger;
  }

  /** @throws {AuthenticationError} for a token of a configured issuer that is wrong. The message holds none of it. */
  async authenticate(inbound: InboundRequest): Promise<Caller | undefined> {
    const token = bearerToken(inbound.headers);
    if (token === undefined || token.length > longestToken) return undefined;
    const issuer = this.#issuers.get(claimedIssuer(token));
    if (issuer === undefined) return undefined;
    try {
      const claims = await verifySignature(token, issuer.keys);
      const user = issuer.identify(claims, this.#clock());
      return { kind: 'authenticated', user, authenticator: this.name, viaVerifiedPeer: false };
    } catch (error) {
      if (!(error instanceof TokenError)) throw error;
      if (error.isRefusal) throw new AuthenticationError(`the token ${error.message}`, { cause: error });
      this.#logger.debug(
        { issuer: issuer.issuer, reason: error.code },
        `Not established here, so its bearer's credentials pass through: the token ${error.message}`,
      );
      return undefined;
    }
  }

  /** Loads the keys of every issuer, so that no first caller waits for them. Never throws: what fails is logged. */
  async prepare(): Promise<void> {
    await Promise.all([...this.#issuers.values()].map(({ keys }) => keys.refresh()));
  }
}

/** Which issuer's keys to try. Not verified: nothing else may be read from a token at this point. */
function claimedIssuer(token: string): string {
  try {
    const { iss } = decodeJwt(token);
    return typeof iss === 'string' ? iss : '';
  } catch {
    return '';
  }
}

/** RFC 6750 section 2.1, with the one space that kube-apiserver wants (pkg/authentication/request/bearertoken). */
const bearerCredentials = /^bearer ([\w\-.~+/]+=*)$/i;

/**
 * The bearer token of a request, from Authorization or a WebSocket subprotocol; `undefined` when there is none, or
 * one in each place: which of two speaks is then the API server's to say.
 * @throws {AuthenticationError} for a repeated Authorization: two readers could take two different lines for it.
 */
export function bearerToken(headers: RawHeaders): string | undefined {
  const lines = allHeaders(headers, 'authorization');
  if (lines.length > 1) {
    throw new AuthenticationError('the request has more than one Authorization header: send one');
  }
  const fromHeader = lines[0] === undefined ? undefined : bearerCredentials.exec(lines[0].trim())?.[1];
  const fromWebsocket = websocketBearerToken(headers);
  if (lines.length === 0) return fromWebsocket;
  return fromWebsocket === undefined ? fromHeader : undefined;
}
