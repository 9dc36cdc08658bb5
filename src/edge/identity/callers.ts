import { PeerAssertionAuthenticator } from '../../identity/assertion/peer-assertion.ts';
import type { Admission, SharedNonces } from '../../identity/assertion/replay-window.ts';
import { type Authenticator, inOrder } from '../../identity/incoming/authenticator.ts';
import { X509Authenticator } from '../../identity/incoming/x509.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { CallerMethods } from '../configuration/configuration.ts';
import { askDurableObject } from '../platform/ask-durable-object.ts';
import type { DurableObjectNamespace } from '../platform/bindings.ts';
import { type PlatformCertificate, platformCertificate } from './platform-certificate.ts';
import { admissionStatus } from './replay-object.ts';
import { TokenAuthenticator } from './token-authenticator.ts';

export interface CallerIdentification {
  /** In the order in which they are asked. */
  readonly authenticators: readonly Authenticator[];
  /** What `request.cf` proves about the caller; nothing, unless the platform's word counts. */
  readonly certificateOf: (cf: unknown) => PlatformCertificate;
}

/**
 * How callers are established at the edge. No header that a client can write counts: assertions and tokens are signed,
 * and a certificate is what the platform itself has verified.
 */
export function createCallerIdentification(
  { assertion, certificate, token }: CallerMethods,
  logger: Logger,
): CallerIdentification {
  return {
    authenticators: inOrder({
      assertion: assertion && assertionAuthenticator(assertion, logger),
      certificate: certificate && new X509Authenticator(),
      token: token && new TokenAuthenticator(token, logger),
    }),
    certificateOf: certificate === undefined ? () => ({}) : platformCertificate,
  };
}

function assertionAuthenticator(
  { keys, audience, nonces }: NonNullable<CallerMethods['assertion']>,
  logger: Logger,
): Authenticator {
  const sharedNonces = nonces && createObjectNonces(nonces);
  return new PeerAssertionAuthenticator({ keys: () => keys, audience, sharedNonces, logger });
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
