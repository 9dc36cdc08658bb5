import { PeerAssertionAuthenticator } from '../../identity/assertion/peer-assertion.ts';
import type { Admission, SharedNonces } from '../../identity/assertion/replay-window.ts';
import { type Authenticator, inOrder } from '../../identity/incoming/authenticator.ts';
import { X509Authenticator } from '../../identity/incoming/x509.ts';
import type { FetchDocument } from '../../identity/jwt/fetch-document.ts';
import { JwtAuthenticator } from '../../identity/jwt/jwt-authenticator.ts';
import type { KeySource, LoadKeys } from '../../identity/jwt/key-source.ts';
import { keysFromDiscovery, keysFromUrl } from '../../identity/jwt/load-keys.ts';
import type { ExternalIssuerConfig } from '../../identity/jwt/parse-jwt-configuration.ts';
import { externalIssuer, type TokenIssuer } from '../../identity/jwt/token-issuer.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { CallerMethods } from '../configuration/configuration.ts';
import { askDurableObject } from '../platform/ask-durable-object.ts';
import type { DurableObjectNamespace } from '../platform/bindings.ts';
import { AccessAuthenticator } from './access-authenticator.ts';
import { IsolateKeys } from './isolate-keys.ts';
import { type PlatformCertificate, platformCertificate } from './platform-certificate.ts';
import { admissionStatus } from './replay-object.ts';

export interface CallerIdentification {
  /** In the order in which they are asked. */
  readonly authenticators: readonly Authenticator[];
  /** To be renewed after requests. */
  readonly keys: readonly IsolateKeys[];
  /** What `request.cf` proves about the caller; nothing, unless the platform's word counts. */
  readonly certificateOf: (cf: unknown) => PlatformCertificate;
}

/** The Worker's callers. */
export function createCallerIdentification(methods: CallerMethods, logger: Logger): CallerIdentification {
  const keys: IsolateKeys[] = [];
  const keysOf = (issuer: ExternalIssuerConfig): KeySource => {
    const source = new IsolateKeys({ issuer: issuer.issuer, load: loadKeysOf(issuer), logger });
    keys.push(source);
    return source;
  };
  return {
    authenticators: edgeAuthenticators(methods, keysOf, logger),
    keys,
    certificateOf: methods.certificate === 'cf' ? platformCertificate : () => ({}),
  };
}

/**
 * How callers are established at the edge. No header that a client can write counts: assertions and tokens are signed,
 * and a certificate is what the platform itself has verified.
 *
 * @param keysOf the keys of an issuer, as the runtime can keep them
 */
export function edgeAuthenticators(
  { assertion, certificate, token, access }: CallerMethods,
  keysOf: (issuer: ExternalIssuerConfig) => KeySource,
  logger: Logger,
): readonly Authenticator[] {
  const tokenIssuer = (issuer: ExternalIssuerConfig): TokenIssuer =>
    externalIssuer(issuer.issuer, keysOf(issuer), issuer.policy);
  return inOrder({
    assertion: assertion && assertionAuthenticator(assertion, logger),
    certificate: certificate && new X509Authenticator(),
    token: token && new JwtAuthenticator({ issuers: token.map(tokenIssuer), logger }),
    access: access && new AccessAuthenticator({ issuer: tokenIssuer(access), logger }),
  } satisfies Record<keyof CallerMethods, Authenticator | undefined>);
}

function assertionAuthenticator(
  { keys, audience, nonces }: NonNullable<CallerMethods['assertion']>,
  logger: Logger,
): Authenticator {
  const sharedNonces = nonces && createObjectNonces(nonces);
  return new PeerAssertionAuthenticator({ keys: () => keys, audience, sharedNonces, logger });
}

/** How the keys of an issuer that `readCallers` accepted are fetched. */
export function loadKeysOf(
  { issuer, keys }: ExternalIssuerConfig,
  fetchDocument: FetchDocument = (url, init) => fetch(url, init),
): LoadKeys {
  // Refused with the configuration: there is no file to be read here.
  if (keys.kind === 'file') throw new TypeError(`The keys of ${issuer} must be named by jwksURL.`);
  return keys.kind === 'discovery'
    ? keysFromDiscovery(fetchDocument, { issuer, discoveryUrl: keys.url })
    : keysFromUrl(fetchDocument, keys.url);
}

const admissions: readonly Admission[] = ['fresh', 'replayed', 'full'];

/** Nonces in Durable Objects of the class `ReplayObject`: one for each issuer, so that one that floods stops only itself. */
function createObjectNonces(namespace: DurableObjectNamespace): SharedNonces {
  return {
    async take(issuer, nonce, deadline) {
      // A nonce has base64url characters alone (assertion-claims.ts).
      const url = `https://replay-object/${nonce}?deadline=${deadline}`;
      const what = 'the Durable Object of nonces';
      const { status, body } = await askDurableObject(namespace, issuer, what, url, { method: 'PUT' });
      await body?.cancel();
      const admission = admissions.find((each) => admissionStatus[each] === status);
      if (admission === undefined) throw new Error(`${what} responded with status ${status}`);
      return admission;
    },
  };
}
