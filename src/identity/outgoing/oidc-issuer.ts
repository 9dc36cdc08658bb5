import type { JWK } from 'jose';
import { oidcTokenAlgorithm } from './sign-oidc-token.ts';

/** What an API server asks the issuer of its tokens for, and where. Both documents are public. */
export interface OidcIssuer {
  /** OpenID Connect Discovery 1.0, section 4. */
  readonly configurationPath: string;
  readonly configuration: Readonly<Record<string, unknown>>;
  /** RFC 7517 section 5. */
  readonly keysPath: string;
  readonly keys: { readonly keys: readonly JWK[] };
}

export interface OidcIssuerOptions {
  /** As `checkIssuerUrl` accepts it. A path is a prefix of both documents' paths. */
  readonly url: string;
  /** Public keys that tokens may be signed with: the one in use, and during a rotation the one before or after. */
  readonly publicKeys: readonly JWK[];
}

const wellKnownPath = '/.well-known/openid-configuration';
const keysPath = '/.mixed-version-proxy/v1/jwks';

/**
 * Everything about an issuer that is the same for every request.
 *
 * @example
 * ```ts
 * const { publicJwk } = await generateSigningKey('ES256');
 * const { configurationPath, configuration } = createOidcIssuer({
 *   url: 'https://router.example',
 *   publicKeys: [publicJwk],
 * });
 * console.log(configurationPath, configuration['issuer']); // /.well-known/openid-configuration https://router.example
 * ```
 */
export function createOidcIssuer({ url, publicKeys }: OidcIssuerOptions): OidcIssuer {
  const { pathname } = new URL(url);
  const prefix = pathname === '/' ? '' : pathname;
  return {
    configurationPath: `${prefix}${wellKnownPath}`,
    // The members that kube-apiserver itself publishes as the issuer of service account tokens
    // (pkg/serviceaccount/openidmetadata.go): there is nothing to log in to.
    configuration: {
      issuer: url,
      jwks_uri: `${url}${keysPath}`,
      response_types_supported: ['id_token'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: [oidcTokenAlgorithm],
    },
    keysPath: `${prefix}${keysPath}`,
    keys: { keys: publicKeys },
  };
}

/**
 * Checks an issuer URL: what kube-apiserver demands of one (k8s.io/apiserver pkg/apis/apiserver/validation), and
 * that the documents' paths follow from it without doubt.
 * @returns what it must be, for a message after the name of the setting; `undefined` when it is valid.
 */
export function checkIssuerUrl(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'https:') return 'must be an https URL';
  if (url.username !== '' || url.password !== '') return 'must not hold a user name or password';
  if (/[?#]/.test(text)) return 'must not have a query or a fragment';
  if (text.endsWith('/')) return 'must not end with a slash';
  // Compared as text by everyone: only the one normal form may be used.
  const { origin, pathname } = url;
  const normal = pathname === '/' ? origin : `${origin}${pathname}`;
  if (normal !== text) return `must be written in its normal form, ${normal}`;
  if (!/^[\w.~/-]*$/.test(pathname) || pathname.includes('//')) {
    return "must have a path of letters, digits and the characters '-._~' only, or none";
  }
  return undefined;
}
