import { randomNonce } from '../../runtime/random-nonce.ts';
import { type SigningKey, signPayload } from '../../snapshot/signing/signing-key.ts';
import { checkTokenLength, type IdentityTokenSigner } from './identity-token.ts';

/**
 * The one algorithm of ours that kube-apiserver's JWT authenticator accepts: it takes RSA and ECDSA, no EdDSA
 * (k8s.io/apiserver plugin/pkg/authenticator/token/oidc/oidc.go, allowedSigningAlgs).
 */
export const oidcTokenAlgorithm = 'ES256';

/** Seconds from `iat` to `exp`. Nothing binds the token to a request; kube-apiserver grants no leeway for `exp`. */
const lifetimeSeconds = 60;

export interface OidcTokenSignerOptions {
  readonly key: SigningKey;
  /** The issuer URL that the API servers are configured with. */
  readonly issuer: string;
  /** One of the audiences that they are configured with. */
  readonly audience: string;
  /** Milliseconds since the epoch. Default `Date.now`. */
  readonly clock?: () => number;
}

/**
 * Signs plain OIDC tokens (RFC 7519), which a kube-apiserver with a JWT authenticator for this issuer accepts.
 * Every claim is always there, empty or not: an API server that maps a missing one refuses the token.
 * @throws {TypeError} for a key of another algorithm than ES256.
 *
 * @example
 * ```ts
 * const { privateJwk } = await generateSigningKey('ES256');
 * const signer = createOidcTokenSigner({
 *   key: signingKeyOf(privateJwk),
 *   issuer: 'https://router.example',
 *   audience: 'kubernetes',
 * });
 * const { kind } = await signer.sign({
 *   user: { name: 'jane', uid: '', groups: ['dev'], extra: new Map() },
 *   destinationId: 'cp-b',
 *   method: 'GET',
 *   target: '/api/v1/pods',
 *   rerouted: true,
 * });
 * console.log(kind); // oidc-token
 * ```
 */
export function createOidcTokenSigner(options: OidcTokenSignerOptions): IdentityTokenSigner {
  const { key, issuer, audience, clock = Date.now } = options;
  if (key.alg !== oidcTokenAlgorithm) {
    throw new TypeError(
      `OIDC tokens must be signed with ${oidcTokenAlgorithm}: kube-apiserver accepts no ${key.alg}.`,
    );
  }
  return {
    async sign({ user }) {
      const now = Math.floor(clock() / 1000);
      const payload = JSON.stringify({
        iss: issuer,
        aud: audience,
        sub: user.name,
        uid: user.uid,
        groups: user.groups,
        // `fromEntries` makes own members of keys such as `__proto__`, which an assignment would not.
        extra: Object.fromEntries(user.extra),
        iat: now,
        nbf: now,
        exp: now + lifetimeSeconds,
        jti: randomNonce(),
      });
      // RFC 7519 section 5.1. Never the type of a peer assertion, so that neither passes for the other.
      const text = await signPayload(payload, 'JWT', key);
      checkTokenLength(text);
      return { kind: 'oidc-token', text };
    },
  };
}
