import { untrustedCertificateAdvice } from '../../node/destinations/tls-dialer.ts';
import { errorCode, errorMessage } from '../../runtime/errors.ts';

interface ConnectionSettings {
  /** The flags that name the CAs of servers. */
  readonly authorities: string;
  readonly serverName: string;
  /** Milliseconds. */
  readonly responseTimeout: number;
}

/** Why `HttpsClient` got no response, with what to do about it. Pure. */
export function connectionError(error: unknown, settings: ConnectionSettings): string {
  const advice =
    untrustedCertificateAdvice(error, settings.authorities) ?? adviceOn(errorCode(error), settings);
  return advice === undefined ? errorMessage(error) : `${errorMessage(error)}. ${advice}`;
}

function adviceOn(code: string, { serverName, responseTimeout }: ConnectionSettings): string | undefined {
  switch (code) {
    case 'ECONNREFUSED':
      return 'Nothing listens there: does the server run?';
    case 'ENOTFOUND':
      return 'The name is not known';
    case 'ETIMEDOUT':
      return `It did not respond within ${responseTimeout / 1000} s: is a firewall in between?`;
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `See ${serverName}, or issue it a certificate with the name that is asked for`;
    case 'CERT_HAS_EXPIRED':
      return 'Its certificate has expired: renew it there';
    default:
      return undefined;
  }
}
