import type { X509Certificate } from 'node:crypto';
import { CertificatePemError, parseCertificates, subjectOf } from './pem-files.ts';

/** The certificate authorities of client certificates. */
export interface ClientAuthorities {
  /** `--client-ca-file`: issues certificates of users. */
  readonly clientCa: readonly X509Certificate[];
  /** `--requestheader-client-ca-file`: issues certificates of front proxies, which assert the identities of users. */
  readonly requestHeaderCa: readonly X509Certificate[];
}

/**
 * Parses the configured PEM bundles. A bundle that is not configured is empty: no certificate descends from it.
 * @throws {CertificatePemError} for a bundle without certificates, with an invalid one, or with an authority of the other
 *
 * @example
 * ```ts
 * const authorities = readClientAuthorities({ clientCa: certificateAuthorities });
 * console.log(authorities.clientCa.length, authorities.requestHeaderCa.length); // 1 0
 * ```
 */
export function readClientAuthorities(bundles: {
  readonly clientCa?: string | undefined;
  readonly requestHeaderCa?: string | undefined;
}): ClientAuthorities {
  const { clientCa, requestHeaderCa } = bundles;
  const authorities = {
    clientCa: parse(clientCa, '--client-ca-file'),
    requestHeaderCa: parse(requestHeaderCa, '--requestheader-client-ca-file'),
  };
  checkDistinct(authorities);
  return authorities;
}

/**
 * An authority that is in both bundles; `undefined` if there is none. With one, every user whose common name is allowed
 * (or any user, if the list of allowed names is empty) could act as a front proxy and assert any identity (1.24 audit,
 * kubernetes/kubernetes#118980). A renewed certificate with the same key is the same authority.
 */
export function sharedAuthority({
  clientCa,
  requestHeaderCa,
}: ClientAuthorities): X509Certificate | undefined {
  return requestHeaderCa.find((each) => clientCa.some((other) => other.publicKey.equals(each.publicKey)));
}

function checkDistinct(authorities: ClientAuthorities): void {
  const shared = sharedAuthority(authorities);
  if (shared === undefined) return;
  throw new CertificatePemError(
    'SharedAuthority',
    `the authority "${subjectOf(shared)}" is in both --client-ca-file and --requestheader-client-ca-file, ` +
      'so that users could pass as front proxies: issue the front-proxy certificates from an authority of their own',
  );
}

function parse(pem: string | undefined, source: string): readonly X509Certificate[] {
  return pem === undefined ? [] : parseCertificates({ pem, source });
}
