import type { webcrypto } from 'node:crypto';
// First: the dependency container inside @peculiar/x509 refuses to load without it.
import 'reflect-metadata';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type JsonGeneralNames,
  type JsonName,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  SubjectKeyIdentifierExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';

const algorithm = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const validDays = 30;
/** Certificates begin a little in the past, for clocks that are a little behind. */
const backdateMilliseconds = 5 * 60_000;
const millisecondsInDay = 24 * 3_600_000;

/** A certificate and its private key (PKCS #8), both PEM. */
export interface IssuedCertificate {
  readonly certificate: string;
  readonly privateKey: string;
}

export interface CertificateRequest {
  readonly commonName: string;
  /** Groups, for a client certificate. */
  readonly organizations?: readonly string[];
  readonly usage: 'server' | 'client';
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
}

export interface CertificateAuthority {
  /** PEM. */
  readonly certificate: string;
  issue(request: CertificateRequest): Promise<IssuedCertificate>;
}

/** Makes a certificate authority of its own, ECDSA P-256, whose key never leaves the process. */
export async function createCertificateAuthority(commonName: string): Promise<CertificateAuthority> {
  const keys = await generateKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: subject(commonName, []),
    keys,
    signingAlgorithm: algorithm,
    ...validity(),
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign, true),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return {
    certificate: pem(certificate),
    issue: (request) => issue(request, certificate, keys),
  };
}

async function issue(
  request: CertificateRequest,
  issuer: X509Certificate,
  issuerKeys: webcrypto.CryptoKeyPair,
): Promise<IssuedCertificate> {
  const { commonName, organizations = [], usage, dnsNames = [], ipAddresses = [] } = request;
  const keys = await generateKeys();
  const alternativeNames: JsonGeneralNames = [
    ...dnsNames.map((value) => ({ type: 'dns', value }) as const),
    ...ipAddresses.map((value) => ({ type: 'ip', value }) as const),
  ];
  const certificate = await X509CertificateGenerator.create({
    subject: subject(commonName, organizations),
    issuer: issuer.subject,
    publicKey: keys.publicKey,
    signingKey: issuerKeys.privateKey,
    signingAlgorithm: algorithm,
    ...validity(),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([
        usage === 'server' ? ExtendedKeyUsage.serverAuth : ExtendedKeyUsage.clientAuth,
      ]),
      await AuthorityKeyIdentifierExtension.create(issuer),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      ...(alternativeNames.length > 0 ? [new SubjectAlternativeNameExtension(alternativeNames)] : []),
    ],
  });
  const privateKey = await crypto.subtle.exportKey('pkcs8', keys.privateKey);
  return { certificate: pem(certificate), privateKey: `${PemConverter.encode(privateKey, 'PRIVATE KEY')}\n` };
}

function generateKeys(): Promise<webcrypto.CryptoKeyPair> {
  return crypto.subtle.generateKey(algorithm, true, ['sign', 'verify']);
}

/** One O attribute for each group, then the CN: how Kubernetes reads user and groups. */
function subject(commonName: string, organizations: readonly string[]): JsonName {
  return [...organizations.map((organization) => ({ O: [organization] })), { CN: [commonName] }];
}

function validity(): { notBefore: Date; notAfter: Date } {
  const now = Date.now();
  return {
    notBefore: new Date(now - backdateMilliseconds),
    notAfter: new Date(now + validDays * millisecondsInDay),
  };
}

function pem(certificate: X509Certificate): string {
  return `${certificate.toString('pem')}\n`;
}
