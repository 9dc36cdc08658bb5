import { X509Certificate } from 'node:crypto';

/** The certificate authorities whose client certificates count, and for what. */
export interface ClientAuthorities {
  /** `--client-ca-file`: its certificates are users. */
  readonly clientCa: readonly X509Certificate[];
  /** `--requestheader-client-ca-file`: its certificates are front proxies, who speak for others. */
  readonly requestHeaderCa: readonly X509Certificate[];
}

export type ClientAuthorityErrorCode =
  /** The bundle holds no PEM certificate. */
  | 'NoCertificate'
  /** A PEM block of the bundle is no certificate. */
  | 'InvalidCertificate'
  /** One authority is in both bundles. */
  | 'SharedAuthority';

/** Thrown at start-up for bundles that cannot be used. */
export class ClientAuthorityError extends Error {
  override readonly name = 'ClientAuthorityError';
  readonly code: ClientAuthorityErrorCode;
  constructor(code: ClientAuthorityErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/**
 * Reads the PEM bundles that are configured; a bundle that is left out is empty, and nobody is of it.
 * @throws {ClientAuthorityError}
 */
export function readClientAuthorities(bundles: {
  readonly clientCa?: string | undefined;
  readonly requestHeaderCa?: string | undefined;
}): ClientAuthorities {
  const { clientCa, requestHeaderCa } = bundles;
  const authorities = {
    clientCa: clientCa === undefined ? [] : parseBundle(clientCa, '--client-ca-file'),
    requestHeaderCa:
      requestHeaderCa === undefined ? [] : parseBundle(requestHeaderCa, '--requestheader-client-ca-file'),
  };
  checkDistinct(authorities);
  return authorities;
}

/**
 * Refuses PEM bundles that share an authority: with one, every user whose common name is an allowed name, or
 * every user at all where the list of allowed names is empty, could speak as anybody (1.24 audit,
 * kubernetes/kubernetes#118980). A renewed certificate with the same key is the same authority.
 * @throws {ClientAuthorityError}
 */
export function assertDistinctAuthorities(clientCa: string, requestHeaderCa: string): void {
  readClientAuthorities({ clientCa, requestHeaderCa });
}

function checkDistinct({ clientCa, requestHeaderCa }: ClientAuthorities): void {
  for (const each of requestHeaderCa) {
    if (!clientCa.some((other) => other.publicKey.equals(each.publicKey))) continue;
    throw new ClientAuthorityError(
      'SharedAuthority',
      `the authority "${oneLine(each.subject)}" is in both --client-ca-file and --requestheader-client-ca-file, ` +
        'so that users could pass as front proxies: issue the front-proxy certificates from an authority of their own',
    );
  }
}

const pemCertificate = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

function parseBundle(pem: string, flag: string): X509Certificate[] {
  const blocks = pem.match(pemCertificate) ?? [];
  if (blocks.length === 0) {
    throw new ClientAuthorityError('NoCertificate', `${flag} holds no PEM certificate`);
  }
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch (cause) {
      throw new ClientAuthorityError(
        'InvalidCertificate',
        `certificate ${index + 1} of ${flag} cannot be read: replace it with a PEM certificate`,
        { cause },
      );
    }
  });
}

/** Node writes one attribute a line. */
function oneLine(subject: string): string {
  return subject.replaceAll('\n', ', ');
}
