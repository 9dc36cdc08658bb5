import { describeIssues } from '../../snapshot/format/issues.ts';
import { isJsonObject } from '../../snapshot/format/json-text.ts';
import { type FetchDocument, fetchJsonDocument, KeyLoadError } from './fetch-document.ts';
import { type KeySet, parseKeySet } from './key-set.ts';
import type { LoadKeys } from './key-source.ts';

/**
 * Loads a key set from its URL.
 *
 * @example
 * ```ts
 * const { publicJwk } = await generateSigningKey('ES256');
 * // Outside of an example: the runtime's `fetch`.
 * const fetchDocument = async () => Response.json({ keys: [publicJwk] });
 *
 * const keys = new CachedKeys({
 *   issuer: 'https://issuer.example',
 *   load: keysFromUrl(fetchDocument, 'https://issuer.example/keys'),
 * });
 * console.log((await keys.current()).length); // 1
 * ```
 */
export function keysFromUrl(fetchDocument: FetchDocument, url: string, timeout?: number): LoadKeys {
  return async () => usableKeys(url, await fetchJsonDocument(fetchDocument, url, timeout));
}

export interface DiscoveryOptions {
  /** What the document's own `issuer` has to be, character by character. */
  readonly issuer: string;
  /** Where the document is; `wellKnownUrl(issuer)` unless the operator has said otherwise. */
  readonly discoveryUrl: string;
}

/**
 * Loads a key set from where OIDC discovery says that it is (OpenID Connect Discovery 1.0 section 4). The document
 * is read again each time: an issuer that moves its keys is followed.
 *
 * @example
 * ```ts
 * const issuer = 'https://issuer.example';
 * const { publicJwk } = await generateSigningKey('ES256');
 * const { configuration, keys } = createOidcIssuer({ url: issuer, publicKeys: [publicJwk] });
 * // Outside of an example: the runtime's `fetch`.
 * const fetchDocument = async (url: string) =>
 *   Response.json(url.endsWith('/.well-known/openid-configuration') ? configuration : keys);
 *
 * const load = keysFromDiscovery(fetchDocument, {
 *   issuer,
 *   discoveryUrl: `${issuer}/.well-known/openid-configuration`,
 * });
 * console.log((await load()).length); // 1
 * ```
 */
export function keysFromDiscovery(
  fetchDocument: FetchDocument,
  { issuer, discoveryUrl }: DiscoveryOptions,
  timeout?: number,
): LoadKeys {
  return async () => {
    const document = await fetchJsonDocument(fetchDocument, discoveryUrl, timeout);
    if (!isJsonObject(document)) {
      throw new KeyLoadError('InvalidDocument', `${discoveryUrl}: the response is no discovery document`);
    }
    // Section 4.3: anything else would let one issuer of a shared host sign for the others.
    if (document['issuer'] !== issuer) {
      throw new KeyLoadError(
        'IssuerMismatch',
        `${discoveryUrl}: its issuer is not ${issuer}; it must be the same, character by character`,
      );
    }
    const keysUrl: unknown = document['jwks_uri'];
    const parsed = typeof keysUrl === 'string' ? URL.parse(keysUrl) : null;
    if (parsed?.protocol !== 'https:' || parsed.username !== '' || parsed.password !== '') {
      throw new KeyLoadError('InvalidDocument', `${discoveryUrl}: its jwks_uri is no https URL`);
    }
    return usableKeys(parsed.href, await fetchJsonDocument(fetchDocument, parsed.href, timeout));
  };
}

/** Where an issuer publishes its discovery document. */
export function wellKnownUrl(issuer: string): string {
  return `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
}

/**
 * The keys of a document that can be used. Single keys that cannot are left out, since an issuer may publish kinds
 * that are of no use here; one that publishes none that are is invalid.
 * @throws {KeyLoadError}
 */
async function usableKeys(source: string, document: unknown): Promise<KeySet> {
  const { keys, issues } = await parseKeySet(document);
  if (keys.length > 0) return keys;
  throw new KeyLoadError(
    'InvalidDocument',
    `${source}: holds no key that can be used: ${describeIssues(issues)}`,
  );
}
