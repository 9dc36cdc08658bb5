/** Why a TLS handshake failed, in causes that an operator treats differently. */
export type TlsFailureCause =
  /** One side does not trust the authority of the other side's certificate. */
  | 'unknown_ca'
  /** Expired, or not valid yet. */
  | 'expired_cert'
  /** The certificate does not have the expected name. */
  | 'hostname_mismatch'
  /** The other side rejects our certificate, or requires one. */
  | 'client_certificate_refused'
  /** No TLS version, cipher or application protocol in common, or no TLS at all. */
  | 'protocol_mismatch'
  | 'timeout'
  /** The other side closed during the handshake, as a load balancer does when it checks the port. */
  | 'closed'
  | 'other';

/** Codes of Node and OpenSSL (X509_V_ERR_*, TLS alerts of RFC 8446 section 6.2). First match wins. */
const causes: readonly (readonly [codes: RegExp, cause: TlsFailureCause])[] = [
  [/SELF_SIGNED|UNABLE_TO_(GET_ISSUER|VERIFY_LEAF)|CERT_UNTRUSTED|ALERT_UNKNOWN_CA/, 'unknown_ca'],
  [/CERT_HAS_EXPIRED|CERT_NOT_YET_VALID|ALERT_CERTIFICATE_EXPIRED/, 'expired_cert'],
  [/CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH/, 'hostname_mismatch'],
  [/ALERT_(\w*CERTIFICATE|ACCESS_DENIED|DECRYPT_ERROR)/, 'client_certificate_refused'],
  [
    /UNSUPPORTED_PROTOCOL|WRONG_VERSION|NO_SHARED_CIPHER|NO_APPLICATION_PROTOCOL|HTTP_REQUEST|ALERT_PROTOCOL_VERSION|INAPPROPRIATE_FALLBACK|PACKET_LENGTH/,
    'protocol_mismatch',
  ],
  [/TIMEOUT|ETIMEDOUT/, 'timeout'],
  [/ECONNRESET|EPIPE|ECONNABORTED|UNEXPECTED_EOF/, 'closed'],
];

/** @param error of a socket or of its cause. Pure. */
export function tlsFailureCause(error: unknown): TlsFailureCause {
  const code = codeOf(error);
  for (const [codes, cause] of causes) if (codes.test(code)) return cause;
  return 'other';
}

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}
