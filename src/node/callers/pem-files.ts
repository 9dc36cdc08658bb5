import { createHash, createPrivateKey, createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import { type ParsedKeySet, parseKeySet } from '../../identity/jwt/key-set.ts';
import { CodedError } from '../../runtime/coded-error.ts';
import { errorMessage } from '../../runtime/error-message.ts';
import type { SnapshotIssue } from '../../snapshot/format/issues.ts';
import { parseJsonText } from '../../snapshot/format/json-text.ts';

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

/** PEM text, and a name of its source for messages. */
export interface PemText {
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

/** @throws {CertificatePemError} */
export function parsePrivateKey({ pem, source }: PemText): KeyObject {
  try {
    return createPrivateKey(pem);
  } catch (cause) {
    // OpenSSL's message names the encoding error, never a part of the key.
    const message = `${source} holds no usable PEM private key (encrypted keys are not supported): ${errorMessage(cause)}`;
    throw new CertificatePemError('InvalidPrivateKey', message, { cause });
  }
}

/**
 * Parses a chain and the key of its first certificate, and checks that they match.
 * @throws {CertificatePemError}
 */
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

const pemBlock = /-----BEGIN ([A-Z0-9 ]+)-----[\s\S]*?-----END \1-----/g;

/**
 * Reads the public keys of a file: PEM (public keys and certificates), or a JSON Web Key Set. A PEM key gets the
 * key ID that kube-apiserver gives it (pkg/serviceaccount/jwt.go): the SHA-256 of its SubjectPublicKeyInfo.
 */
export async function parsePublicKeyFile(text: string): Promise<ParsedKeySet> {
  if (text.trimStart().startsWith('{')) return parseKeySetText(text);
  const issues: SnapshotIssue[] = [];
  const jwks: unknown[] = [];
  for (const [index, [block, label = '']] of [...text.matchAll(pemBlock)].entries()) {
    const jwk = publicJwk(block, label);
    if (typeof jwk === 'string') issues.push({ path: `PEM block ${index + 1}`, message: jwk });
    else jwks.push(jwk);
  }
  if (jwks.length === 0) {
    return {
      keys: [],
      issues: [...issues, { path: '', message: 'holds no PEM public key and no JSON Web Key Set' }],
    };
  }
  const parsed = await parseKeySet({ keys: jwks });
  return { keys: parsed.keys, issues: [...issues, ...parsed.issues] };
}

/** Reads a JSON Web Key Set as text. */
export async function parseKeySetText(text: string): Promise<ParsedKeySet> {
  const parsed = parseJsonText(text, 8);
  if (parsed.ok) return parseKeySet(parsed.value);
  // Without the parser's message: it quotes the text, which may be a private key that was given by mistake.
  return { keys: [], issues: [{ path: '', message: 'is not JSON' }] };
}

/** The key as a JWK, or why the block is invalid. */
function publicJwk(block: string, label: string): object | string {
  if (label.endsWith('PRIVATE KEY'))
    return 'must not be here: this is a private key; put its public half here';
  try {
    const key = createPublicKey(block);
    const kid = createHash('sha256')
      .update(key.export({ type: 'spki', format: 'der' }))
      .digest('base64url');
    return { ...key.export({ format: 'jwk' }), kid };
  } catch {
    return `must be a public key or a certificate: this ${label} cannot be read`;
  }
}
