import { errorCode } from '../../runtime/errors.ts';

/** What OpenSSL calls a chain that ends in no trusted CA depends on what the server sends of it (X509_verify_cert). */
const codes: ReadonlySet<string> = new Set([
  'CERT_SIGNATURE_FAILURE',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/**
 * What to do about a connection that failed because the server's certificate is of none of the CAs that are trusted;
 * `undefined` where it failed for another reason. Pure.
 * @param authoritiesFrom what names those CAs: a flag, or a field of a file
 */
export function untrustedCertificateAdvice(error: unknown, authoritiesFrom: string): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (codes.has(errorCode(cause))) return `Its certificate is of another CA: see ${authoritiesFrom}`;
  }
  return undefined;
}
