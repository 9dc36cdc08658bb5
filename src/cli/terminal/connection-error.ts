import { untrustedCertificateAdvice } from '../../node/destinations/tls-dialer.ts';
import { errorCode, errorMessage } from '../../runtime/errors.ts';

interface ConnectionSettings {
  /** The request itself. */
  readonly peer: 'router' | 'API server';
  /** The flags that name the CAs of servers. */
  readonly authorities: string;
  readonly serverName: string;
  /** Milliseconds. */
  readonly responseTimeout: number;
}

/** Why `HttpsClient` got no response, with what to do about it. Pure. */
export function connectionError(error: unknown, settings: ConnectionSettings): string {
  const code = errorCode(error);
  const inWords = reasonOf(code, settings);
  if (inWords !== undefined) return inWords;
  const advice = untrustedCertificateAdvice(error, settings.authorities) ?? adviceOn(code, settings);
  return advice === undefined ? errorMessage(error) : `${errorMessage(error)}. ${advice}`;
}

/** In place of what the system calls it. */
function reasonOf(code: string, { peer, responseTimeout }: ConnectionSettings): string | undefined {
  switch (code) {
    case 'ECONNREFUSED':
      return `nothing listens there: does the ${peer} run?`;
    case 'ENOTFOUND':
      return 'the name of its host is not known';
    case 'ETIMEDOUT':
      return `it did not respond within ${responseTimeout / 1000} s: is a firewall in between?`;
    default:
      return undefined;
  }
}

function adviceOn(code: string, { serverName }: ConnectionSettings): string | undefined {
  switch (code) {
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return `See ${serverName}, or issue it a certificate with the name that is asked for`;
    case 'CERT_HAS_EXPIRED':
      return 'Its certificate has expired: renew it there';
    default:
      return undefined;
  }
}
