import type { Authenticator } from '../../identity/authenticator.ts';
import { X509Authenticator } from '../../identity/x509.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { CallerMethods } from '../configuration/configuration.ts';
import { type PlatformCertificate, platformCertificate } from './platform-certificate.ts';
import { TokenAuthenticator } from './token-authenticator.ts';

export interface CallerIdentification {
  /** In the order in which they are asked. */
  readonly authenticators: readonly Authenticator[];
  /** What `request.cf` proves about the caller; nothing, unless the platform's word counts. */
  readonly certificateOf: (cf: unknown) => PlatformCertificate;
}

/**
 * How callers are established at the edge. No header that a client can write counts: a token is signed, and a certificate
 * is what the platform itself has verified.
 */
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
