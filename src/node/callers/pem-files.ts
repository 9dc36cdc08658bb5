import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto';
import { CodedError, errorMessage } from '../../runtime/errors.ts';

export type CertificatePemErrorCode =
  | 'NoCertificate'
  /** A PEM block is not a certificate. */
  | 'InvalidCertificate'
  /** No PEM private key, or an encrypted one. */
  | 'InvalidPrivateKey'
  /** The key belongs to another certificate. */
  | 'KeyMismatch'
  /** One authority is in `--client-ca-file` and in `--requestheader-client-ca-file`: users could pass as front proxies. */
  | 'SharedAuthority';

/** Why PEM text cannot be used. The message names the source and never shows a part of a key. */
export class CertificatePemError extends CodedError<CertificatePemErrorCode> {
  override readonly name = 'CertificatePemError';
}

interface PemText {
  readonly pem: string;
  readonly source: string;
}

const certificateBlock = /-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g;

/** The certificates of a chain or bundle, in order; at least one. @throws {CertificatePemError} */
export function parseCertificates({ pem, source }: PemText): readonly X509Certificate[] {
  const blocks = pem.match(certificateBlock) ?? [];
  if (blocks.length === 0) {
    throw new CertificatePemError('NoCertificate', `${source} holds no PEM certificate`);
  }
  return blocks.map((block, index) => {
    try {
      return new X509Certificate(block);
    } catch (cause) {
      const position = `certificate ${index + 1} of ${blocks.length}`;
      const message = `${position} in ${source} is not readable: ${errorMessage(cause)}`;
      throw new CertificatePemError('InvalidCertificate', message, { cause });
    }
  });
}

export function parsePrivateKey({ pem, source }: PemText): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    // OpenSSL's message names the encoding error, never a part of the key.
    const message = `${source} holds no usable PEM private key (encrypted keys are not supported): ${errorMessage(cause)}`;
    throw new CertificatePemError('InvalidPrivateKey', message, { cause });
  }
}

/** The certificates of a chain that its key fits. @throws {CertificatePemError} */
export function parsePair(certificate: PemText, key: PemText): readonly X509Certificate[] {
  const certificates = parseCertificates(certificate);
  requireKeyFits(certificates, parsePrivateKey(key), certificate.source, key.source);
  return certificates;
}

/** @throws {CertificatePemError} `KeyMismatch` unless the key is that of the first certificate. */
export function requireKeyFits(
  certificates: readonly X509Certificate[],
  key: KeyObject,
  certificateSource: string,
  keySource: string,
): void {
  if (certificates[0]?.checkPrivateKey(key) === true) return;
  throw new CertificatePemError(
    'KeyMismatch',
    `the key in ${keySource} does not belong to the first certificate of ${certificateSource}`,
  );
}

/** A subject on one line; Node has one attribute per line. */
export function subjectOf(certificate: X509Certificate): string {
  return certificate.subject.replaceAll('\n', ', ');
}
