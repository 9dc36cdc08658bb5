import { allHeaders } from '../../apimachinery/raw-headers.ts';
import { carriesRerouteMark, peerAssertionHeader } from '../../request/headers.ts';
import type { InboundRequest } from '../../request/inbound.ts';
import type { Caller } from '../../request/user-info.ts';
import { type Logger, silentLogger } from '../../runtime/logger.ts';
import type { Authenticator } from '../authenticator.ts';
import { PeerAssertionError } from './peer-assertion-error.ts';
import { AssertionVerifier, type AssertionVerifierOptions } from './verify-assertion.ts';

/**
 * Callers that another router has authenticated and vouches for with a signed assertion, where there is no
 * mutual TLS between the two. Its word counts as a front proxy's does, the reroute mark included.
 *
 * Not for routers without pinned keys: without this authenticator the header is ignored, and removed as every
 * identity header is.
 */
export class PeerAssertionAuthenticator implements Authenticator {
  readonly name = 'peer-assertion';
  readonly #verifier: AssertionVerifier;
  readonly #logger: Logger;

  constructor(options: AssertionVerifierOptions) {
    this.#verifier = new AssertionVerifier(options);
    this.#logger = options.logger ?? silentLogger;
  }

  /** @throws {PeerAssertionError} for an assertion that is not believed. */
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
    const { user, issuer, kid } = await this.#verifier.verify(assertion, {
      method: inbound.method,
      target: inbound.target,
      rerouted: carriesRerouteMark(inbound.headers),
    });
    this.#logger.debug({ issuer, kid, user: user.name }, 'A peer assertion was accepted');
    return { kind: 'authenticated', user, authenticator: this.name, viaVerifiedPeer: true };
  }
}
