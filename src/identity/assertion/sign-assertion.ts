import { base64url } from 'jose';
import { type SigningKey, signPayload } from '../../snapshot/signing/seal.ts';
import { assertionPayload, peerAssertionType } from './assertion-claims.ts';
import { type AssertionSigner, AssertionTooLargeError, maximumAssertionLength } from './assertion-signer.ts';

export interface AssertionSignerOptions {
  readonly key: SigningKey;
  /** The name of the signer: the `issuer` that the destinations have pinned the key for. */
  readonly issuer: string;
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly clock?: () => number;
}

/** Seconds: clocks differ, and a request waits for its connection. */
const lifetime = 30;

/**
 * Signs peer assertions: who calls, for one request to one destination, for some seconds. The body is not
 * bound, for it is a stream that has not been read yet.
 *
 * @example
 * ```ts
 * const { privateJwk } = await generateSigningKey('EdDSA');
 * const signer = createAssertionSigner({ key: signingKeyOf(privateJwk), issuer: 'router-a' });
 * const assertion = await signer.sign({
 *   user: { name: 'jane', uid: '', groups: ['dev'], extra: new Map() },
 *   destinationId: 'cp-b',
 *   method: 'GET',
 *   target: '/api/v1/pods',
 *   rerouted: true,
 * });
 * console.log(assertion.split('.').length); // 3
 * ```
 */
export function createAssertionSigner(options: AssertionSignerOptions): AssertionSigner {
  const { key, issuer, clock = Date.now } = options;
  return {
    async sign({ user, destinationId, method, target, rerouted }) {
      const now = Math.floor(clock() / 1000);
      const payload = assertionPayload({
        iss: issuer,
        aud: destinationId,
        iat: now,
        nbf: now,
        exp: now + lifetime,
        // 128 random bits: unique without any bookkeeping, and not to be guessed.
        jti: base64url.encode(crypto.getRandomValues(new Uint8Array(16))),
        method,
        path: target,
        rerouted,
        user,
      });
      const text = await signPayload(payload, peerAssertionType, key);
      if (text.length > maximumAssertionLength) throw new AssertionTooLargeError();
      return text;
    },
  };
}
