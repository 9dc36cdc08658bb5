import 'reflect-metadata';
import {
  AuthorityKeyIdentifierExtension,
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  KeyUsageFlags,
  KeyUsagesExtension,
  type Name,
  SubjectKeyIdentifierExtension,
} from '@peculiar/x509';
import {
  alternativeNames,
  authorityExtensions,
  type CertificateContent,
  distinguishedName,
  generateKeys,
  type Keys,
  privateKeyPem,
  signCertificate,
} from './signed-certificate.ts';

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
  /** PKCS #8, PEM: for a controller manager, which signs certificates with it. */
  privateKey(): Promise<string>;
}

/** Makes a certificate authority of its own, ECDSA P-256, whose key leaves the process only where it is asked for. */
export async function createCertificateAuthority(commonName: string): Promise<CertificateAuthority> {
  const subject = distinguishedName([commonName]);
  const keys = await generateKeys();
  const certificate = await signCertificate({
    subject,
    keys,
    issuer: { subject, privateKey: keys.privateKey },
    validity: validity(),
    extensions: [...authorityExtensions(), await SubjectKeyIdentifierExtension.create(keys.publicKey)],
  });
  return {
    certificate,
    issue: (request) => issue(request, subject, keys),
    privateKey: () => privateKeyPem(keys.privateKey),
  };
}

async function issue(
  request: CertificateRequest,
  issuer: Name,
  issuerKeys: Keys,
): Promise<IssuedCertificate> {
  const { commonName, organizations, usage, dnsNames, ipAddresses } = request;
  const keys = await generateKeys();
  const certificate = await signCertificate({
    subject: distinguishedName([commonName], organizations),
    keys,
    issuer: { subject: issuer, privateKey: issuerKeys.privateKey },
    validity: validity(),
    extensions: [
      new BasicConstraintsExtension(false, undefined, true),
      new KeyUsagesExtension(KeyUsageFlags.digitalSignature, true),
      new ExtendedKeyUsageExtension([
        usage === 'server' ? ExtendedKeyUsage.serverAuth : ExtendedKeyUsage.clientAuth,
      ]),
      await AuthorityKeyIdentifierExtension.create(issuerKeys.publicKey),
      await SubjectKeyIdentifierExtension.create(keys.publicKey),
      ...alternativeNames(dnsNames, ipAddresses),
    ],
  });
  return { certificate, privateKey: await privateKeyPem(keys.privateKey) };
}

function validity(): CertificateContent['validity'] {
  const now = Date.now();
  return {
    notBefore: new Date(now - backdateMilliseconds),
    notAfter: new Date(now + validDays * millisecondsInDay),
  };
}
