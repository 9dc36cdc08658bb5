import type { webcrypto } from 'node:crypto';
// First: the dependency container inside @peculiar/x509 refuses to load without it.
import 'reflect-metadata';
import {
  BasicConstraintsExtension,
  type Extension,
  type JsonGeneralNames,
  KeyUsageFlags,
  KeyUsagesExtension,
  Name,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from '@peculiar/x509';

/** ECDSA P-256, for keys and signatures. */
export const keyAlgorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;

export type Keys = webcrypto.CryptoKeyPair;

/** Content of a certificate, and its issuer. */
export interface CertificateContent {
  readonly subject: Name;
  /** The key that the certificate is about. */
  readonly keys: Keys;
  readonly issuer: { readonly subject: Name; readonly privateKey: webcrypto.CryptoKey };
  readonly validity: { readonly notBefore: Date; readonly notAfter: Date };
  readonly extensions: readonly Extension[];
}

/** The certificate, PEM, with a random serial number. */
export async function signCertificate(content: CertificateContent): Promise<string> {
  const { subject, keys, issuer, validity, extensions } = content;
  const certificate = await X509CertificateGenerator.create({
    subject,
    issuer: issuer.subject,
    publicKey: keys.publicKey,
    signingKey: issuer.privateKey,
    signingAlgorithm: keyAlgorithm,
    ...validity,
    extensions: [...extensions],
  });
  return `${certificate.toString('pem')}\n`;
}

export function generateKeys(): Promise<Keys> {
  return crypto.subtle.generateKey(keyAlgorithm, true, ['sign', 'verify']);
}

/** The private key, PKCS #8 PEM. */
export async function privateKeyPem(privateKey: webcrypto.CryptoKey): Promise<string> {
  const key = await crypto.subtle.exportKey('pkcs8', privateKey);
  return `${PemConverter.encode(key, 'PRIVATE KEY')}\n`;
}

/** Kubernetes' own object identifier of a UID (k8s.io/apiserver pkg/authentication/request/x509). */
const uidAttribute = '1.3.6.1.4.1.57683.2';

/**
 * One attribute for each organization, UID and common name: how Kubernetes reads groups and user. As `utf8String`, since
 * the library takes bare strings for text with escapes in it.
 */
export function distinguishedName(
  commonNames: readonly string[],
  organizations: readonly string[] = [],
  uids: readonly string[] = [],
): Name {
  return new Name([
    ...organizations.map((organization) => ({ O: [{ utf8String: organization }] })),
    ...uids.map((uid) => ({ [uidAttribute]: [{ utf8String: uid }] })),
    ...commonNames.map((commonName) => ({ CN: [{ utf8String: commonName }] })),
  ]);
}

/** Extensions that make a certificate one of an authority. */
export function authorityExtensions(): Extension[] {
  return [
    new BasicConstraintsExtension(true, undefined, true),
    new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
  ];
}

/** The names that a server answers to; no extension where there are none. */
export function alternativeNames(
  dnsNames: readonly string[] = [],
  ipAddresses: readonly string[] = [],
): Extension[] {
  const names: JsonGeneralNames = [
    ...dnsNames.map((value) => ({ type: 'dns', value }) as const),
    ...ipAddresses.map((value) => ({ type: 'ip', value }) as const),
  ];
  return names.length > 0 ? [new SubjectAlternativeNameExtension(names)] : [];
}
